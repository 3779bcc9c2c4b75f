// The verification in the background.

package grpcrpc

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verifying is a transport, within a bubble, that has the certificates of r.
func verifying(t *testing.T, r *reloader) *Transport {
	t.Helper()
	tr, err := New(Config{Self: "b", Listener: newPipeListener(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	r.now, r.changed, r.refuse = time.Now, make(chan struct{}, 1), tr.refuse
	tr.tls = r
	stop, err := tr.Serve(new(losses))
	require.NoError(t, err)
	t.Cleanup(func() { stop(); tr.Close() })
	return tr
}

// A certificate may run out while a connection lasts, and nothing else tells.
func TestOpenConnectionsAreVerifiedEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var verified atomic.Int32
		verifying(t, &reloader{live: map[*meter]func() error{
			newMeter(nil, nil): func() error { verified.Add(1); return nil },
		}})
		<-time.After(verifyEvery - 1)
		synctest.Wait()
		assert.Zero(t, verified.Load())
		<-time.After(1)
		for minutes := range int32(3) {
			synctest.Wait()
			assert.Equal(t, minutes+1, verified.Load())
			<-time.After(verifyEvery)
		}
	})
}

// An operator learns in time that new files cannot be used, even if the node has no connection.
func TestTheFilesAreCheckedEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := verifying(t, new(reloader)) // its files are missing
		<-time.After(verifyEvery)
		synctest.Wait()
		assert.EqualValues(t, 1, tr.Stats().Refused[RefusedReload])
	})
}

func TestEveryConnectionThatIsNoLongerTrustedIsCut(t *testing.T) {
	var refused []Refusal
	r := &reloader{live: map[*meter]func() error{}, refuse: func(why Refusal, _ ...any) { refused = append(refused, why) }}
	trusted := map[net.Conn]bool{}
	for i := range 6 {
		ours, theirs := net.Pipe()
		require.NoError(t, theirs.SetReadDeadline(time.Unix(1, 0))) // reads do not wait
		trusted[theirs] = i%2 == 0
		r.live[newMeter(ours, nil)] = func() error {
			if trusted[theirs] {
				return nil
			}
			return errors.New("no longer trusted")
		}
		t.Cleanup(func() { _ = ours.Close() })
	}
	r.verifyAll()
	for theirs, stays := range trusted {
		_, err := theirs.Read(make([]byte, 1))
		assert.Equal(t, !stays, errors.Is(err, io.EOF), err)
	}
	assert.Equal(t, []Refusal{RefusedReload, RefusedCertificate, RefusedCertificate, RefusedCertificate}, refused, "it has no files")
}
