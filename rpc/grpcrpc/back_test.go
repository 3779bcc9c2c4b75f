// How late: from a peer's return to the first message, and trouble twice within one of a link's operations.

package grpcrpc

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/rpc"
)

// told is a logger that passes on what a link tells, in its order.
type told struct {
	slog.Handler
	what chan string
}

func (told) Enabled(context.Context, slog.Level) bool { return true }

func (l told) Handle(_ context.Context, r slog.Record) error {
	l.what <- r.Message
	return nil
}

// heard is a handler that passes on that something has arrived.
type heard chan struct{}

func (h heard) Receive([]rpc.Message) { h <- struct{}{} }
func (heard) PeerLost(string)         {}

// However long a peer was away, and although it goes away again, it is connected again within the longest wait, and
// hears the first message that is sent then.
func TestAPeerThatIsBackIsConnectedWithinTheLongestWait(t *testing.T) {
	address := deaf(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	arrived := make(heard)
	back, away := make(chan struct{}), make(chan struct{}) // the peer is in real time, because its goroutines wait for the network
	go func() {
		for range back {
			there, err := net.Listen("tcp", address)
			if !assert.NoError(t, err) {
				return
			}
			b, err := New(Config{Self: "b", Listener: there, Peers: map[string]string{"a": listener.Addr().String()}, Logger: slog.New(slog.DiscardHandler)})
			if !assert.NoError(t, err) {
				return
			}
			stop, err := b.Serve(arrived)
			assert.NoError(t, err)
			back <- struct{}{}
			<-away
			stop()
			b.Close()
			away <- struct{}{}
		}
	}()
	defer close(back)
	synctest.Test(t, func(t *testing.T) {
		says := told{slog.DiscardHandler, make(chan string, 10_000)}
		tr, err := New(Config{Self: "a", Listener: listener, Logger: slog.New(says)})
		require.NoError(t, err)
		l := newLink(tr, "b", address)
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.run()
		}()
		for range 3 {
			for since := time.Now(); time.Since(since) < 10*time.Second; {
				<-says.what
			}
			back <- struct{}{} // an attempt has just failed
			<-back
			began := time.Now()
			for told := <-says.what; told != "connected"; {
				told = <-says.what
			}
			assert.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
			l.put([]rpc.Message{{Group: "g", Voters: 1, Body: rpc.Body{Kind: rpc.VoteRequest, Round: 1, Term: 1}}})
			<-arrived
			away <- struct{}{}
			<-away
		}
		l.cancel()
		<-done
		tr.Close()
	})
}

// A connection may be replaced twice while the peer is probed because an earlier one broke. The answer to that probe
// says nothing about the third, and each of the others has hung up once.
func TestAConnectionThatIsReplacedTwiceDuringAProbe(t *testing.T) {
	l, told := linkTo(t)
	hungUp := map[uint64]int{}
	open := func(incarnation uint64) *connection {
		c := &connection{number: l.number(), incarnation: incarnation, confirmed: true}
		c.hangUp = func(why error) {
			assert.Equal(t, codes.Aborted, status.Code(why))
			hungUp[c.number]++
			l.end(c)
		}
		require.NoError(t, l.begin(c))
		return c
	}
	l.end(open(7))
	probed := l.suspected()
	open(8)
	third := open(8)
	l.gone(probed)
	assert.Equal(t, losses{"a"}, *told, "8 has replaced 7")
	assert.Equal(t, map[uint64]int{2: 1}, hungUp)
	last := open(9)
	l.gone(probed)
	assert.Equal(t, map[uint64]int{2: 1, 3: 1}, hungUp)
	assert.Equal(t, losses{"a", "a"}, *told, "9 has replaced 8")
	l.end(third)
	assert.Nil(t, l.suspected(), "the one that was replaced says nothing")
	l.end(last)
	broken := l.suspected()
	l.gone(broken)
	l.gone(broken)
	assert.Equal(t, losses{"a", "a", "a"}, *told)
}
