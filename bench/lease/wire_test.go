package main

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
)

func TestAWireCountsWhatWrites(t *testing.T) {
	w := new(wire)
	for _, text := range []string{"UPDATE x", "\nINSERT INTO x", "SELECT 1", "LISTEN c", "DELETE FROM x"} {
		w.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{SQL: text})
	}
	assert.Equal(t, load{reads: 2, writes: 3}, w.asked())
}

// spoken is a store that renews by sending a word over an echoing connection.
type spoken struct {
	lease.Store
	conn net.Conn
}

func (s spoken) Renew(context.Context, string, []lease.Held) ([]string, error) {
	if _, err := s.conn.Write([]byte("a")); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(s.conn, make([]byte, 1))
	return []string{"a"}, err
}

func TestALateRenewalIsAnsweredAndNothingAfterIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	heard := make(chan string, 10)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		for b := make([]byte, 1); ; {
			if _, err := c.Read(b); err != nil {
				close(heard)
				return
			}
			heard <- string(b)
			_, _ = c.Write(b)
		}
	}()
	config, err := pgx.ParseConfig("postgres://u@" + l.Addr().String() + "/d?sslmode=disable")
	require.NoError(t, err)
	w, err := newWire(config)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", w.line.Address())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()

	s := wired{spoken{nil, conn}, w}
	w.late(time.Millisecond)
	kept, err := s.Renew(t.Context(), "a", make([]lease.Held, 3))
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, kept)
	assert.Equal(t, int64(3), w.asked().renewed)
	assert.Equal(t, "a", <-heard)

	_, err = conn.Write([]byte("b"))
	require.NoError(t, err, "the connection stays")
	require.NoError(t, w.close())
	_, more := <-heard
	assert.False(t, more, "nothing gets through")
}

func TestACrashedCandidateDoesNotReconnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	config, err := pgx.ParseConfig("postgres://u@" + l.Addr().String() + "/d?sslmode=disable&connect_timeout=2")
	require.NoError(t, err)
	w, err := newWire(config)
	require.NoError(t, err)
	w.crash()
	another, err := net.Listen("tcp", w.line.Address()) // which happens to get the port
	require.NoError(t, err)
	defer func() { _ = another.Close() }()
	require.ErrorIs(t, w.db.PingContext(t.Context()), errCut)
	require.NoError(t, w.close())
}
