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

// Waker is a [lease.Waker]. Listening takes a connection of its own, and a wake-up
// one for a moment.
type Waker struct {
	config  *pgx.ConnConfig
	channel string
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
	return &Waker{config.Copy(), channel}, nil
}

// Wake notifies whoever listens.
func (w *Waker) Wake(ctx context.Context, name string) error {
	return w.connected(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", w.channel, name)
		return err
	})
}

// Listen listens until the context ends or the connection is lost.
func (w *Waker) Listen(ctx context.Context, woken func(name string)) error {
	return w.connected(ctx, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{w.channel}.Sanitize()); err != nil {
			return err
		}
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			woken(n.Payload)
		}
	})
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
