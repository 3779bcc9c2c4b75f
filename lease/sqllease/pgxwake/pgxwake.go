// Package pgxwake wakes candidates through LISTEN and NOTIFY of PostgreSQL, so that a
// released lease is taken at once.
package pgxwake

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hustings/hustings/lease"
)

// DefaultChannel is the default channel of wake-ups.
const DefaultChannel = "hustings_lease"

// Waker is a [lease.Waker]. Listen has a connection of its own. While there is one, wake-ups
// are sent through it, because opening another takes longer than the handover.
type Waker struct {
	config  *pgx.ConnConfig
	channel string
	ear     atomic.Pointer[ear] // of the last Listen; nil: there was none
}

var _ lease.Waker = (*Waker)(nil)

// New makes a waker over the named channel, DefaultChannel if the name is empty. The
// configuration comes from pgx.ParseConfig. It must lead to PostgreSQL itself, or to a pooler
// that keeps sessions.
func New(config *pgx.ConnConfig, channel string) (*Waker, error) {
	if config == nil {
		return nil, errors.New("pgxwake: the configuration is nil")
	}
	if channel == "" {
		channel = DefaultChannel
	}
	return &Waker{config: config.Copy(), channel: channel}, nil
}

// ear is the connection of a Listen, which also sends wake-ups for others.
type ear struct {
	conn  *pgx.Conn
	asked chan request
	ended chan struct{}
}

type request struct {
	ctx    context.Context //nolint:containedctx // a request is a call that another goroutine makes
	name   string
	answer chan error
}

// Wake notifies all listeners. If the connection of Listen fails, or there is none, it opens a
// connection for this call.
func (w *Waker) Wake(ctx context.Context, name string) error {
	if e := w.ear.Load(); e != nil && e.send(ctx, name) == nil {
		return nil
	}
	return w.connected(ctx, func(conn *pgx.Conn) error { return w.notify(ctx, conn, name) })
}

// send makes the listening goroutine send a wake-up.
func (e *ear) send(ctx context.Context, name string) error {
	r := request{ctx, name, make(chan error, 1)}
	select {
	case e.asked <- r:
		return <-r.answer
	case <-e.ended:
		return errors.New("the listening connection has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Waker) notify(ctx context.Context, conn *pgx.Conn, name string) error {
	// Exec mode, because preparing the statement would take another round trip.
	_, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", pgx.QueryExecModeExec, w.channel, name)
	return err
}

// Listen listens until the context ends or the connection is lost.
func (w *Waker) Listen(ctx context.Context, woken func(name string)) error {
	return w.connected(ctx, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{w.channel}.Sanitize()); err != nil {
			return err
		}
		e := &ear{conn, make(chan request), make(chan struct{})}
		w.ear.Store(e)
		defer close(e.ended)
		for {
			r, err := e.listen(ctx, woken)
			if err != nil {
				return err
			}
			r.answer <- w.notify(r.ctx, conn, r.name)
		}
	})
}

// listen listens until there is a request. It then cancels the wait, which does not harm the
// connection.
func (e *ear) listen(ctx context.Context, woken func(name string)) (request, error) {
	waiting, stop := context.WithCancel(ctx)
	requests := make(chan *request, 1)
	go func() {
		defer stop()
		select {
		case r := <-e.asked:
			requests <- &r
		case <-waiting.Done():
			requests <- nil
		}
	}()
	for {
		n, err := e.conn.WaitForNotification(waiting)
		if err != nil {
			stop()
			if r := <-requests; r != nil {
				return *r, nil
			}
			return request{}, err
		}
		woken(n.Payload)
	}
}

// connected calls do with a connection of its own.
func (w *Waker) connected(ctx context.Context, do func(*pgx.Conn) error) (err error) {
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return fmt.Errorf("pgxwake: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	return do(conn)
}
