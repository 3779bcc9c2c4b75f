// Links between processes that can be cut, in one direction or both, without either end being told.

package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/faultproxy"
)

// link is how one node reaches another: by two ports in a row, like those of a node.
type link struct {
	address string
	proxies []*faultproxy.Proxy
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	l := &link{address: freePair(t)}
	for i := range 2 {
		listener, err := net.Listen("tcp", nextPort(t, l.address, i))
		require.NoError(t, err)
		p := faultproxy.On(listener, nextPort(t, to, i))
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		l.proxies = append(l.proxies, p)
	}
	return l
}

// The ports of a link, in their order.
const (
	engines = iota
	electors
)

// set cuts directions of ports of the link, and mends the others.
func (l *link) set(calls, answers bool, ports ...int) {
	for _, port := range ports {
		l.proxies[port].SetHeld(faultproxy.Calls, calls)
		l.proxies[port].SetHeld(faultproxy.Answers, answers)
	}
}
