//go:build unix

package cli

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/proto/electorpb"
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

// Otherwise whoever sends the second one would have to kill the node.
func TestTheNodeThatIsServedIsToldToStopAndToHurry(t *testing.T) {
	var f serveFlags
	f.run = func(ctx context.Context, c node.Config, _ *node.Printer, _ *slog.Logger) error {
		for _, told := range []<-chan struct{}{ctx.Done(), c.Hurry} {
			signalled(t, syscall.SIGTERM)
			select {
			case <-told:
			case <-time.After(enough):
				assert.Fail(t, "it is not told")
			}
		}
		return nil
	}
	cmd := f.command()
	cmd.SetArgs([]string{"--node", "n0", "--members", "n0=h:1", "--data", "d"})
	assert.NoError(t, cmd.ExecuteContext(t.Context()))
}

// A node ends in an orderly way although nobody reads its output any more.
func TestANodeOutlivesTheReaderOfItsOutput(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), commandVariable+"=serve --local 1 --json", "TMPDIR="+t.TempDir())
	read, write, err := os.Pipe()
	require.NoError(t, err)
	child.Stdout = write
	require.NoError(t, child.Start())
	require.NoError(t, write.Close())
	_, err = bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, read.Close())
	require.NoError(t, child.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, child.Wait(), "it has printed that it stops, in vain")
}

// Ctrl-C ends a command to a node, which says what becomes of the node.
func TestACommandToANodeIsInterrupted(t *testing.T) {
	s := &slow{hangs: true, asked: make(chan *electorpb.DrainRequest, 1)}
	address, ended := s.at(t), make(chan error, 1)
	cmd := newDrain()
	cmd.SetArgs([]string{"-a", address, "--timeout", "1h"})
	cmd.SetErr(new(page))
	others := make(chan os.Signal, 1) // so that the test goes on if the command ignores it
	signal.Notify(others, os.Interrupt)
	defer signal.Stop(others)
	ctx, giveUp := context.WithTimeout(t.Context(), enough)
	defer giveUp()
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	<-s.asked
	signalled(t, syscall.SIGINT)
	err := <-ended
	require.ErrorAs(t, err, new(unfinishedError))
	require.ErrorContains(t, err, "which drains if it has been told to")
	assert.NoError(t, ctx.Err(), "it was the signal that ended it")
}
