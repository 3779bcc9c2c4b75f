//go:build unix

package cli

import (
	"context"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// signalled sends this process a signal.
func signalled(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(syscall.Getpid(), s))
}

// The first signal stops a node, and the second one ends its patience, whichever they are. One that was ignored when the process began, as
// by nohup, stays so.
func TestTheSecondSignalHurriesANode(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			continue
		}
		ctx, hurry, stop := untilStopped(t.Context())
		signalled(t, s)
		<-ctx.Done()
		select {
		case <-hurry:
			assert.Fail(t, "there was one signal")
		default:
		}
		signalled(t, syscall.SIGTERM)
		select {
		case <-hurry:
		case <-time.After(enough):
			assert.Fail(t, "there were two signals", s)
		}
		stop()
	}
	parent, cancel := context.WithCancel(t.Context())
	ctx, hurry, stop := untilStopped(parent)
	cancel()
	<-ctx.Done()
	stop()
	select {
	case <-hurry:
		assert.Fail(t, "there was no signal")
	default:
	}
	ctx, _, stop = untilStopped(t.Context())
	stop()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
}

// Under nohup a terminal that is closed stops no node.
func TestASignalThatIsIgnoredStopsNothing(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	_, _, stop := untilStopped(t.Context())
	defer stop()
	assert.True(t, signal.Ignored(syscall.SIGHUP))
}
