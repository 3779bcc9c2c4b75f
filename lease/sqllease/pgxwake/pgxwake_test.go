package pgxwake_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease/sqllease/pgxwake"
)

// server implements as much of PostgreSQL as a wake-up needs. A real one would not say whether a
// wake-up came over a new or a kept connection.
type server struct {
	mu       sync.Mutex
	sessions []net.Conn // the server's ends
	woken    []string
	listens  []string      // the statements
	partings int           // connections that the client has ended as it should
	ended    chan struct{} // receives the end of each session
	listened chan struct{} // closed when a client listens
	holds    chan struct{} // nil, or no wake-up is answered until it is closed
	stops    chan struct{} // nil, or after LISTEN it reads nothing until it is closed
	deaf     bool          // it does not answer LISTEN
	refuses  bool          // it refuses all wake-ups
	also     string        // not empty: another client wakes this name with every wake-up
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	client, conn := net.Pipe()
	go s.serve(conn)
	return client, nil
}

// serve answers until the connection is closed.
func (s *server) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	b := pgproto3.NewBackend(conn, conn)
	first, err := b.ReceiveStartupMessage()
	if _, begins := first.(*pgproto3.StartupMessage); err != nil || !begins {
		return // pgx asks to cancel a statement whose connection broke
	}
	s.note(func() { s.sessions = append(s.sessions, conn) })
	defer func() { s.ended <- struct{}{} }()
	b.Send(&pgproto3.AuthenticationOk{})
	ready := &pgproto3.ReadyForQuery{TxStatus: 'I'}
	b.Send(ready)
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Query: // LISTEN
			s.note(func() { s.listens = append(s.listens, m.String) })
			close(s.listened)
			if s.deaf {
				continue
			}
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("LISTEN")})
			b.Send(ready)
			if s.stops != nil {
				_ = b.Flush()
				<-s.stops
			}
		case *pgproto3.Parse:
			b.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			s.note(func() { s.woken = append(s.woken, string(m.Parameters[0])+" "+string(m.Parameters[1])) })
			if s.holds != nil {
				<-s.holds
			}
			if s.refuses {
				b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42501", Message: "permission denied"})
				continue
			}
			b.Send(&pgproto3.BindComplete{})
		case *pgproto3.Describe:
			b.Send(&pgproto3.NoData{})
		case *pgproto3.Execute:
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
			b.Send(&pgproto3.NotificationResponse{Channel: "c", Payload: s.last()})
			if s.also != "" {
				b.Send(&pgproto3.NotificationResponse{Channel: "c", Payload: s.also})
			}
		case *pgproto3.Sync:
			b.Send(ready)
		case *pgproto3.Terminate:
			s.note(func() { s.partings++ })
			return
		}
	}
}

// note calls do with the server's lock.
func (s *server) note(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// saw returns the wake-ups so far, and the number of connections.
func (s *server) saw() (woken []string, sessions int) {
	s.note(func() { woken, sessions = slices.Clone(s.woken), len(s.sessions) })
	return woken, sessions
}

func open(t *testing.T) (*server, *pgxwake.Waker) {
	t.Helper()
	return openWith(t, "c")
}

// openWith makes a server, and a waker over this channel.
func openWith(t *testing.T, channel string) (*server, *pgxwake.Waker) {
	t.Helper()
	s, config := newServer(t)
	w, err := pgxwake.New(config, channel)
	require.NoError(t, err)
	return s, w
}

// newServer makes a server, and a configuration that leads to it.
func newServer(t *testing.T) (*server, *pgx.ConnConfig) {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://u@h/app?sslmode=disable")
	require.NoError(t, err)
	s := &server{ended: make(chan struct{}, 1000), listened: make(chan struct{})}
	config.DialFunc = s.dial
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"h"}, nil }
	return s, config
}

// last is the name that was woken last.
func (s *server) last() string {
	woken, _ := s.saw()
	_, name, _ := strings.Cut(woken[len(woken)-1], " ")
	return name
}

// listen runs a waker's Listen, and returns what it receives, its end, and how to end it.
func listen(t *testing.T, w *pgxwake.Waker) (heard chan string, ended chan error, end context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended = make(chan string, 1000), make(chan error, 1)
	go func() { ended <- w.Listen(ctx, func(name string) { heard <- name }) }()
	return heard, ended, cancel
}

// Connecting takes longer than a handover, so a listener wakes others over the connection that it
// has, even many at once.
func TestAListenerWakesOthersOverItsOwnConnection(t *testing.T) {
	const wakes = 50
	s, w := open(t)
	heard, ended, end := listen(t, w)
	<-s.listened
	for grows := true; grows; { // until the waker's side has noticed it, too
		_, before := s.saw()
		require.NoError(t, w.Wake(t.Context(), "first"))
		_, after := s.saw()
		grows = after > before
	}
	_, before := s.saw()
	var all sync.WaitGroup
	for i := range wakes {
		all.Go(func() { assert.NoError(t, w.Wake(t.Context(), fmt.Sprint(i))) })
	}
	all.Wait()
	woken, sessions := s.saw()
	assert.Equal(t, before, sessions)
	for i := range wakes {
		assert.Contains(t, woken, fmt.Sprint("c ", i))
	}
	for name := ""; name != "last"; name = <-heard {
		if len(heard) == 0 {
			require.NoError(t, w.Wake(t.Context(), "last"))
		}
	}
	end()
	assert.ErrorIs(t, <-ended, context.Canceled)
}

// A listener that sends a wake-up has to stop listening for that. It loses none of those that arrive meanwhile.
func TestAListenerThatWakesOthersHearsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := open(t)
		s.also = "other"
		var heard []string
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- w.Listen(ctx, func(name string) {
				heard = append(heard, name)
				<-time.After(time.Second) // virtual time
			})
		}()
		synctest.Wait()
		require.NoError(t, w.Wake(t.Context(), "a"))
		synctest.Wait()
		require.NoError(t, w.Wake(t.Context(), "b")) // it comes when "other" has not been heard yet
		<-time.After(time.Minute)
		assert.Equal(t, []string{"a", "other", "b", "other"}, heard)
		end()
		assert.ErrorIs(t, <-ended, context.Canceled)
	})
}

// A program may use its configuration for another database afterwards.
func TestAConfigurationMayBeChangedAfterwards(t *testing.T) {
	s, config := newServer(t)
	w, err := pgxwake.New(config, "c")
	require.NoError(t, err)
	another, _ := newServer(t)
	config.DialFunc = another.dial
	require.NoError(t, w.Wake(t.Context(), "g"))
	woken, _ := s.saw()
	assert.Equal(t, []string{"c g"}, woken)
}

// Without a listener every wake-up opens a connection of its own.
func TestWithoutAListenerAWakeOpensAConnection(t *testing.T) {
	s, w := open(t)
	for i := range 2 {
		require.NoError(t, w.Wake(t.Context(), fmt.Sprint(i)))
		<-s.ended
	}
	woken, sessions := s.saw()
	assert.Equal(t, []string{"c 0", "c 1"}, woken)
	assert.Equal(t, 2, sessions)
}

// The end of the connection is the error of Listen, and later wake-ups open connections of their own.
func TestAListenerWhoseConnectionIsLostEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := open(t)
		_, ended, end := listen(t, w)
		defer end()
		synctest.Wait()
		require.NoError(t, s.sessions[0].Close())
		synctest.Wait()
		require.Len(t, ended, 1)
		require.Error(t, <-ended)
		require.NoError(t, w.Wake(t.Context(), "g"))
		woken, sessions := s.saw()
		assert.Equal(t, []string{"c g"}, woken)
		assert.Equal(t, 2, sessions)
	})
}

// A LISTEN that is not answered holds up no wake-ups. It ends with its context, and leaves no connection behind.
func TestAListenThatIsNotAnsweredEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := open(t)
		s.deaf = true
		_, ended, end := listen(t, w)
		synctest.Wait()
		require.Empty(t, ended)
		waking, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.NoError(t, w.Wake(waking, "g"))
		end()
		<-time.After(time.Minute)
		require.Len(t, ended, 1)
		require.ErrorIs(t, <-ended, context.Canceled)
		assert.Len(t, s.ended, 2)
	})
}

// A wake-up that is not answered ends with its context: over a connection of its own, over that of a listener, and while
// it waits for that one.
func TestAWakeThatIsNotAnsweredEndsWithItsContext(t *testing.T) {
	for _, c := range []struct{ listens, waits bool }{{false, false}, {true, false}, {true, true}} {
		synctest.Test(t, func(t *testing.T) {
			s, w := open(t)
			s.holds = make(chan struct{})
			end := func() {}
			if c.listens {
				_, _, end = listen(t, w)
			}
			synctest.Wait()
			first := make(chan error, 1)
			if c.waits {
				go func() { first <- w.Wake(t.Context(), "first") }()
				synctest.Wait()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			require.ErrorIs(t, w.Wake(ctx, "g"), context.DeadlineExceeded)
			assert.Equal(t, time.Second, time.Since(began))
			close(s.holds)
			if c.waits {
				require.NoError(t, <-first)
			}
			end()
			<-time.After(time.Minute) // in which the driver closes its connections
		})
	}
}

// A server that cannot be reached, or refuses a wake-up, is the error of the call.
func TestAWakeThatFailsSaysWhy(t *testing.T) {
	s, w := open(t)
	s.refuses = true
	require.ErrorContains(t, w.Wake(t.Context(), "g"), "permission denied")
	config, err := pgx.ParseConfig("postgres://u@h/app?sslmode=disable")
	require.NoError(t, err)
	config.LookupFunc = func(ctx context.Context, _ string) ([]string, error) { return nil, ctx.Err() }
	away, err := pgxwake.New(config, "c")
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, away.Wake(ended, "g"), context.Canceled)
	require.ErrorContains(t, away.Wake(ended, "g"), "pgxwake: ")
	require.ErrorIs(t, away.Listen(ended, func(string) {}), context.Canceled)
}

func TestTheChannelHasADefault(t *testing.T) {
	s, w := openWith(t, "")
	require.NoError(t, w.Wake(t.Context(), "g"))
	<-s.ended
	woken, _ := s.saw()
	assert.Equal(t, []string{pgxwake.DefaultChannel + " g"}, woken)
	w, err := pgxwake.New(nil, "c")
	require.ErrorContains(t, err, "the configuration is nil")
	assert.Nil(t, w)
}

// pg_notify takes the name of a channel as it is. LISTEN folds it, and reads it as a part of the statement, unless it is
// quoted.
func TestAListenerHearsTheChannelThatWakesGoThrough(t *testing.T) {
	for channel, statement := range map[string]string{
		"c": `LISTEN "c"`, `My "c`: `LISTEN "My ""c"`, "a-b; DROP TABLE t": `LISTEN "a-b; DROP TABLE t"`, "": `LISTEN "hustings_lease"`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, w := openWith(t, channel)
			_, ended, end := listen(t, w)
			synctest.Wait()
			require.NoError(t, w.Wake(t.Context(), "g"))
			end()
			require.ErrorIs(t, <-ended, context.Canceled)
			assert.Equal(t, []string{statement}, s.listens)
			if channel != "" {
				assert.Equal(t, []string{channel + " g"}, s.woken)
			}
		})
	}
}

// An elector that ends waits for its listener.
func TestAListenerEndsSoonWhateverItsServerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := open(t)
		s.stops = make(chan struct{})
		defer close(s.stops)
		_, ended, end := listen(t, w)
		synctest.Wait()
		end()
		<-time.After(5 * time.Second)
		require.Len(t, ended, 1)
		assert.ErrorIs(t, <-ended, context.Canceled)
	})
}

// A server that is not told of the end of a session takes it for a client that has crashed. It is given a moment to listen.
func TestAListenerTakesLeaveOfItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := open(t)
		s.stops = make(chan struct{})
		_, ended, end := listen(t, w)
		synctest.Wait()
		end()
		<-time.After(500 * time.Millisecond)
		close(s.stops)
		assert.ErrorIs(t, <-ended, context.Canceled)
		<-s.ended
		s.note(func() { assert.Equal(t, 1, s.partings) })
	})
}

// Wake-ups that wait for a listener when its Listen ends are sent over connections of their own. A
// few of them may still be sent by the listener.
func TestWakesDoNotWaitForAListenerThatHasEnded(t *testing.T) {
	const wakes = 50
	synctest.Test(t, func(t *testing.T) {
		s, w := open(t)
		s.holds = make(chan struct{})
		_, ended, end := listen(t, w)
		synctest.Wait()
		answers := make(chan error, wakes)
		for i := range wakes {
			go func() { answers <- w.Wake(t.Context(), fmt.Sprint(i)) }()
		}
		synctest.Wait() // the first is being sent
		end()
		close(s.holds)
		synctest.Wait()
		assert.ErrorIs(t, <-ended, context.Canceled)
		require.Len(t, answers, wakes)
		for range wakes {
			assert.NoError(t, <-answers)
		}
		_, sessions := s.saw()
		assert.Greater(t, sessions, 1)
	})
}
