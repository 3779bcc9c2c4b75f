// Package pgxwake wakes candidates through LISTEN and NOTIFY of PostgreSQL, so
// that a lease that was released is taken at once.
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

// DefaultChannel is where wake-ups go unless another channel is named.
const DefaultChannel = "hustings_lease"

// Waker is a [lease.Waker]. It takes one connection of its own, that of Listen: while
// there is one, wake-ups go through it, for to open another takes longer than the
// handover that it is for.
type Waker struct {
	config  *pgx.ConnConfig
	channel string
	ear     atomic.Pointer[ear] // nil: nobody listens
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
	return &Waker{config: config.Copy(), channel: channel}, nil
}

// ear is the connection of a Listen, which others may ask to send a wake-up.
type ear struct {
	conn  *pgx.Conn
	asked chan request
	ended chan struct{}
}

type request struct {
	ctx    context.Context //nolint:containedctx // it is a call, made elsewhere
	name   string
	answer chan error
}

// Wake notifies whoever listens. If the connection of Listen fails it is tried once
// more, over a connection for the purpose, as it is if there is none.
func (w *Waker) Wake(ctx context.Context, name string) error {
	if e := w.ear.Load(); e != nil && e.send(ctx, name) == nil {
		return nil
	}
	return w.connected(ctx, func(conn *pgx.Conn) error { return w.notify(ctx, conn, name) })
}

// send has a wake-up sent by the goroutine that listens.
func (e *ear) send(ctx context.Context, name string) error {
	r := request{ctx, name, make(chan error, 1)}
	select {
	case e.asked <- r:
		return <-r.answer
	case <-e.ended:
		return errors.New("nobody listens any more")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Waker) notify(ctx context.Context, conn *pgx.Conn, name string) error {
	// To prepare the statement would be another round trip.
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
		defer w.ear.CompareAndSwap(e, nil)
		for {
			r, err := e.listen(ctx, woken)
			if err != nil {
				return err
			}
			r.answer <- w.notify(r.ctx, conn, r.name)
		}
	})
}

// listen listens until there is a request. To break off a wait does a connection no
// harm.
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

// connected does something with a connection of its own.
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
