package pgxwake_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease/sqllease/pgxwake"
)

// server is as much of PostgreSQL as a wake-up needs. Whether it is woken over a new
// connection or a kept one, no real one would tell.
type server struct {
	mu       sync.Mutex
	sessions []net.Conn // the server's ends
	woken    []string
	ended    chan struct{} // told when a session is
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	client, conn := net.Pipe()
	go s.serve(conn)
	return client, nil
}

// serve answers until the connection is closed.
func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	first, err := b.ReceiveStartupMessage()
	if _, begins := first.(*pgproto3.StartupMessage); err != nil || !begins {
		return // pgx asks for a statement to be cancelled whose connection broke
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
		case *pgproto3.Parse:
			b.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			s.note(func() { s.woken = append(s.woken, string(m.Parameters[0])+" "+string(m.Parameters[1])) })
			b.Send(&pgproto3.BindComplete{})
		case *pgproto3.Describe:
			b.Send(&pgproto3.NoData{})
		case *pgproto3.Execute:
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		case *pgproto3.Sync:
			b.Send(ready)
		case *pgproto3.Terminate:
			return
		}
	}
}

// note does something with the server's books.
func (s *server) note(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// saw says what has been heard, over how many connections.
func (s *server) saw() (woken []string, sessions int) {
	s.note(func() { woken, sessions = slices.Clone(s.woken), len(s.sessions) })
	return woken, sessions
}

func open(t *testing.T) (*server, *pgxwake.Waker) {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://u@h/app?sslmode=disable")
	require.NoError(t, err)
	s := &server{ended: make(chan struct{}, 10)}
	config.DialFunc = s.dial
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"h"}, nil }
	w, err := pgxwake.New(config, "c")
	require.NoError(t, err)
	return s, w
}

// To connect takes longer than to hand over, so it is done once.
func TestWakeUpsShareAConnection(t *testing.T) {
	s, w := open(t)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, w.Wake(t.Context(), name))
	}
	woken, sessions := s.saw()
	assert.Equal(t, []string{"c a", "c b", "c c"}, woken)
	assert.Equal(t, 1, sessions)
	require.NoError(t, w.Close())
	<-s.ended
	assert.ErrorContains(t, w.Wake(t.Context(), "d"), "closed")
	assert.NoError(t, w.Close())
}

// A connection that broke while it was kept costs no wake-up.
func TestABrokenConnectionIsReplaced(t *testing.T) {
	s, w := open(t)
	require.NoError(t, w.Wake(t.Context(), "a"))
	require.NoError(t, s.sessions[0].Close()) // as a server does that is restarted
	<-s.ended
	require.NoError(t, w.Wake(t.Context(), "b"))
	woken, sessions := s.saw()
	assert.Equal(t, []string{"c a", "c b"}, woken)
	assert.Equal(t, 2, sessions)
	require.NoError(t, w.Close())
	<-s.ended
}

// A wake-up that cannot be sent is not in the way of the next one.
func TestAWakeUpThatCannotBeSentIsAnError(t *testing.T) {
	s, w := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.Wake(ctx, "a"), context.Canceled)
	require.NoError(t, w.Wake(t.Context(), "b"))
	woken, _ := s.saw()
	assert.Equal(t, []string{"c b"}, woken)
	require.NoError(t, w.Close())
	<-s.ended
}
