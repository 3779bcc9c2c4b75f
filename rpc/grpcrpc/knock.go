// What became of a peer whose connection broke: a look whether anyone is there.

package grpcrpc

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// knockTime is how long a peer may take to let somebody in, at all its
	// addresses together.
	knockTime = time.Second
	// stayTime is how long a connection must stay to show that it was taken in.
	stayTime = 100 * time.Millisecond
)

// keepLooking looks until it is known what became of a peer that calls and was
// cut off, for about a second. A process that is being ended may still accept
// connections for a moment.
func (l *link) keepLooking() {
	var wait pause
	for range 10 {
		if l.ctx.Err() != nil || l.look() {
			return
		}
		wait.sleep(l.ctx)
	}
}

// look finds out whether the peer's process is still there, if that is in doubt,
// and says whether it now is known.
func (l *link) look() bool {
	broken := l.suspected()
	if broken == nil {
		return true
	}
	here, gone := knock(l.ctx, l.address)
	if gone {
		l.gone(broken)
	}
	return here || gone
}

// knock looks whether anybody is at an address, which may be a name that stands
// for several.
func knock(ctx context.Context, address string) (here, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, knockTime)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, false
	}
	hosts := []string{host}
	if host != "" {
		if hosts, err = net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return false, false
		}
	}
	targets := make([]string, len(hosts))
	for i, h := range hosts {
		targets[i] = net.JoinHostPort(h, port)
	}
	return knockAll(ctx, targets)
}

// knockAll says that the peer is here if one of its addresses takes a connection
// and keeps it, and gone if all refuse. Otherwise nothing is known. An address
// that this machine has no way to does not count: the peer was not reached there.
func knockAll(ctx context.Context, targets []string) (here, gone bool) {
	silent := false
	for _, target := range targets {
		stays, err := knockAt(ctx, target)
		switch {
		case stays:
			return true, false
		case errors.Is(err, syscall.ECONNREFUSED):
			gone = true
		case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		default:
			silent = true
		}
	}
	return false, gone && !silent
}

// knockAt connects and waits a moment whether the connection stays.
func knockAt(ctx context.Context, target string) (stays bool, err error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return false, err
	}
	defer c.Close() //nolint:errcheck // nothing was sent
	if err := c.SetReadDeadline(time.Now().Add(stayTime)); err != nil {
		return false, err
	}
	n, err := c.Read(make([]byte, 1))
	return n > 0 || errors.Is(err, os.ErrDeadlineExceeded), nil
}
