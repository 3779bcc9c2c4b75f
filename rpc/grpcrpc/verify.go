// Open connections are verified again and again, because a certificate may run out, and an
// authority may lose its trust, while a connection lasts.

package grpcrpc

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"time"

	"google.golang.org/grpc/credentials"
)

// verifyEvery is the interval at which the files are checked and all connections verified.
// All are also verified when a new connection finds the files changed.
const verifyEvery = time.Minute

// keeper registers a connection to be verified until it ends. Nil: there is nothing to
// verify.
type keeper func(*meter, credentials.AuthInfo) error

func (k keeper) keep(m *meter, info credentials.AuthInfo) error {
	if k == nil {
		return nil
	}
	return k(m, info)
}

// keeper makes a keeper, which also verifies at once, because the authorities may have
// changed since the handshake.
func (r *reloader) keeper(check func(tls.ConnectionState) error) keeper {
	return func(m *meter, info credentials.AuthInfo) error {
		secured, ok := info.(credentials.TLSInfo)
		if !ok {
			return errors.New("a connection without TLS")
		}
		again := func() error { return check(secured.State) }
		r.mu.Lock()
		r.live[m] = again
		r.mu.Unlock()
		m.atEnd(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.live, m)
		})
		return again()
	}
}

// watch verifies all connections at every tick, and whenever the files have changed.
func (r *reloader) watch(ctx context.Context, ticks <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		case <-r.changed:
		}
		r.verifyAll()
	}
}

// verifyAll closes the connections whose certificates are no longer valid.
func (r *reloader) verifyAll() {
	r.newest()
	r.mu.Lock()
	live := maps.Clone(r.live)
	r.mu.Unlock()
	for m, again := range live {
		if err := again(); err != nil {
			r.refuse(RefusedCertificate, "remote", m.RemoteAddr(), "error", err)
			_ = m.Conn.Close() // the goroutine that reads from it notices
		}
	}
}
