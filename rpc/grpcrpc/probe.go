// A probe of a peer whose connection broke: does its process still accept connections?

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
	// probeTime bounds a probe of all addresses of a peer together.
	probeTime = time.Second
	// stayTime is how long a connection must stay open to count as accepted.
	stayTime = 100 * time.Millisecond
)

// keepProbing probes a peer, for about a second, until it is known whether its process is
// gone. It is for peers that call this node, and repeats because a process that is being
// ended may still accept connections for a moment.
func (l *link) keepProbing() {
	var wait pause
	for range 10 {
		if l.ctx.Err() != nil || l.probePeer() {
			return
		}
		wait.sleep(l.ctx, 0)
	}
}

// probePeer finds out whether the peer's process is still there, if that is in doubt. It returns
// false if it is still in doubt.
func (l *link) probePeer() bool {
	broken := l.suspected()
	if broken == nil {
		return true
	}
	here, gone := probe(l.ctx, l.address)
	if gone {
		l.gone(broken)
	}
	return here || gone
}

// probe finds out whether a process listens at an address. A name may stand for several
// addresses.
func probe(ctx context.Context, address string) (here, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
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
	return probeAll(ctx, targets)
}

// probeAll says that the peer is here if one of its addresses accepts a connection and keeps
// it, and gone if all addresses refuse. Otherwise nothing is known. An address that this
// machine has no route to is ignored, because the peer was never reached there.
func probeAll(ctx context.Context, targets []string) (here, gone bool) {
	silent := false
	for _, target := range targets {
		stays, err := probeAt(ctx, target)
		if stays {
			return true, false
		}
		refuses, doubtful := meaning(err)
		gone, silent = gone || refuses, silent || doubtful
	}
	return false, gone && !silent
}

// meaning says what a failed attempt means: that the address refuses, or that the peer may be there
// nevertheless. Without a route it means neither.
func meaning(err error) (refuses, doubtful bool) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return true, false
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		return false, false
	}
	return false, true
}

// probeAt connects, and waits a moment to see whether the connection stays open.
func probeAt(ctx context.Context, target string) (stays bool, err error) {
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
