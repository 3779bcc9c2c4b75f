// Package pgxwake wakes candidates through LISTEN and NOTIFY of PostgreSQL, so
// that a lease that was released is taken at once.
package pgxwake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hustings/hustings/lease"
)

// DefaultChannel is where wake-ups go unless another channel is named.
const DefaultChannel = "hustings_lease"

// Waker is a [lease.Waker]. Listening takes a connection of its own, and so does
// waking: that one is opened by the first wake-up and kept, for to open one takes
// longer than the handover it is for.
type Waker struct {
	config  *pgx.ConnConfig
	channel string
	waking  chan *pgx.Conn // holds the kept connection, or nil, while nobody uses it
}

var _ lease.Waker = (*Waker)(nil)

// New is a waker over the channel of that name, DefaultChannel if it is empty. The
// configuration is what pgx.ParseConfig has made; it must lead to PostgreSQL
// itself, or to a pooler that keeps sessions.
func New(config *pgx.ConnConfig, channel string) (*Waker, error) {
	if config == nil {
		return nil, errors.New("pgxwake: the configuration is nil")
	}
	if channel == "" {
		channel = DefaultChannel
	}
	w := &Waker{config.Copy(), channel, make(chan *pgx.Conn, 1)}
	w.waking <- nil
	return w, nil
}

// errClosed is what is said of a wake-up that comes too late.
var errClosed = errors.New("pgxwake: the waker is closed")

// Close closes the connection that wake-ups take, when nobody uses it; after that
// there are none. Who listens is not disturbed.
func (w *Waker) Close() error {
	conn, open := <-w.waking
	if open {
		close(w.waking)
	}
	return hangUp(context.Background(), conn)
}

// Wake notifies whoever listens. A connection that was kept may have broken
// meanwhile; then it is tried once more, over a new one.
func (w *Waker) Wake(ctx context.Context, name string) error {
	var conn *pgx.Conn
	open := true
	select {
	case conn, open = <-w.waking:
	case <-ctx.Done():
		return fmt.Errorf("pgxwake: %w", ctx.Err())
	}
	if !open {
		return errClosed
	}
	kept := conn != nil
	conn, err := w.notify(ctx, conn, name)
	if err != nil && kept && conn == nil && ctx.Err() == nil {
		conn, err = w.notify(ctx, nil, name)
	}
	w.waking <- conn
	return err
}

// notify sends a wake-up over a connection, a new one if it is nil, and returns the
// connection if it still serves.
func (w *Waker) notify(ctx context.Context, conn *pgx.Conn, name string) (*pgx.Conn, error) {
	if conn == nil {
		var err error
		if conn, err = w.connect(ctx); err != nil {
			return nil, err
		}
	}
	// To prepare the statement would be another round trip.
	if _, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", pgx.QueryExecModeExec, w.channel, name); err != nil {
		if conn.IsClosed() {
			conn = nil
		}
		return conn, fmt.Errorf("pgxwake: %w", err)
	}
	return conn, nil
}

// Listen listens until the context ends or the connection is lost.
func (w *Waker) Listen(ctx context.Context, woken func(name string)) (err error) {
	conn, err := w.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hangUp(ctx, conn)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{w.channel}.Sanitize()); err != nil {
		return fmt.Errorf("pgxwake: %w", err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("pgxwake: %w", err)
		}
		woken(n.Payload)
	}
}

func (w *Waker) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return nil, fmt.Errorf("pgxwake: %w", err)
	}
	return conn, nil
}

// hangUp closes a connection, if there is one, with a second to say so, even if the
// context has ended.
func hangUp(ctx context.Context, conn *pgx.Conn) error {
	if conn == nil {
		return nil
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return conn.Close(closing)
}
