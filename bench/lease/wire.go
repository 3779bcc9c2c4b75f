// A connection with PostgreSQL, through a proxy that can fail.

package main

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hustings/hustings/internal/faultproxy"
	"github.com/hustings/hustings/lease"
)

// wire is a connection through a proxy.
type wire struct {
	counter
	line   *faultproxy.Proxy
	config *pgx.ConnConfig // through the proxy
	db     *sql.DB
	delay  atomic.Int64
	dead   atomic.Bool
}

func newWire(config *pgx.ConnConfig) (*wire, error) {
	l, err := faultproxy.New(net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(l.Address())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	w := &wire{line: l, config: config.Copy()}
	w.config.Host, w.config.Port, w.config.Tracer = host, uint16(number), w
	dial := w.config.DialFunc
	w.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if w.dead.Load() {
			return nil, errCut
		}
		return dial(ctx, network, address)
	}
	w.db = stdlib.OpenDB(*w.config)
	return w, nil
}

// TraceQueryStart counts a statement.
func (w *wire) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	verb, _, _ := strings.Cut(strings.TrimSpace(q.SQL), " ")
	switch verb {
	case "INSERT", "UPDATE", "DELETE", "CREATE", "WITH":
		w.writes.Add(1)
	default:
		w.reads.Add(1)
	}
	return ctx
}

// TraceQueryEnd does nothing.
func (*wire) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// crash also keeps the candidate from reconnecting, because the line's port may belong to
// another line by then, which would revive the candidate.
func (w *wire) crash() {
	w.dead.Store(true)
	_ = w.line.Sever() // errors of a line that is cut do not matter
}

func (w *wire) stall() { w.line.Hold() }

func (w *wire) late(by time.Duration) { w.delay.Store(int64(by)) }

func (w *wire) close() error {
	w.crash()
	err := w.line.Close()
	_ = w.db.Close() // errors do not matter, because its connections are cut
	return err
}

// wired is a store behind a wire that can delay the answer to the next renewal.
type wired struct {
	lease.Store
	wire *wire
}

// Renew holds back the server's answer if it must be late; the statement still reaches the
// server.
func (s wired) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	s.wire.renewed.Add(int64(len(held)))
	delay := time.Duration(s.wire.delay.Swap(0))
	if delay == 0 {
		return s.Store.Renew(ctx, holder, held)
	}
	defer s.wire.stall()
	s.wire.line.SetHeld(faultproxy.Answers, true)
	timer := time.AfterFunc(delay, s.wire.line.Resume)
	defer timer.Stop()
	return s.Store.Renew(ctx, holder, held)
}
