// What a transport holds when everybody has gone: as much as before they came.

package grpcrpc_test

import (
	"maps"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// soon is the handshake timeout: strangers and dismissed peers are closed after two of it.
const soon = time.Second

// comeAndGo has members, operators and strangers come to b and go, in all ways.
func (s *besieged) comeAndGo(peers map[string]string) {
	s.t.Helper()
	for _, node := range []string{"0", "d"} { // one that calls b, and one that b calls
		s.changesItsAddress(node, peers)
		s.b.SetPeers(peers)
		s.b.Send(node, manyVotes) // to nobody
	}
	for range 3 {
		x := s.attack(s.files("c"))
		_, err := x.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 100)))
		require.NoError(s.t, err)
		y := s.attack(s.files("op"))
		require.True(s.t, y.asked())
		y.drip(y.call(check), 100) // it never ends
		require.NoError(s.t, y.Close())
	}
	silent, err := net.Dial("tcp", s.addresses["b"]) // until b has had enough of it
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = silent.Close() })
	before := s.b.Stats().Refused[grpcrpc.RefusedIdentity]
	x := s.attack(s.files("c")) // a2's name, with the certificate of c; without TLS, of one that b calls
	hello := helloFromA2()
	if hello.GetHello().From = "a2"; s.dir == "" {
		hello.GetHello().From = "c"
	}
	x.say(s.t, x.call(exchange), hello)
	require.True(s.t, x.send())
	s.eventually("it is refused", func() bool { return s.b.Stats().Refused[grpcrpc.RefusedIdentity] > before })
	require.NoError(s.t, x.Close())
	x, _ = s.attackAsPeer(s.files("a2"))
	require.NoError(s.t, x.Close())
	s.neverConfirms()
}

// neverConfirms has three connections of a2 wait for their Confirm; each replaces the one before it.
func (s *besieged) neverConfirms() {
	s.t.Helper()
	hello := helloFromA2()
	hello.GetHello().Confirms = true
	var last *attacker
	for range 3 {
		last = s.attack(s.files("a2"))
		last.say(s.t, last.call(exchange), hello)
		require.True(s.t, last.send())
		s.eventually("it is greeted", func() bool { return s.b.Holdings().Greeted == 1 })
	}
	require.NoError(s.t, last.Close())
}

// talksToB serves a node that has no other peer.
func (s *besieged) talksToB(node string) (*grpcrpc.Transport, *ear) {
	s.t.Helper()
	tr := s.build(node, func(c grpcrpc.Config) (*grpcrpc.Transport, error) {
		c.Peers = map[string]string{"b": s.addresses["b"]}
		return grpcrpc.New(c)
	})
	return tr, s.listenTo(tr)
}

// files are the certificate of a name; nil: there is no TLS.
func (s *besieged) files(name string) *grpcrpc.TLS {
	if s.dir == "" {
		return nil
	}
	files := certs.Files(s.dir, name)
	return &files
}

// changesItsAddress has a node become a peer of b, and come back at another address twice.
func (s *besieged) changesItsAddress(node string, peers map[string]string) {
	s.t.Helper()
	for range 3 {
		s.listen(node, "127.0.0.1:0")
		with := maps.Clone(peers)
		with[node] = "127.0.0.1:1" // nobody is there
		s.b.SetPeers(with)
		s.b.Send(node, manyVotes)
		with[node] = s.addresses[node]
		s.b.SetPeers(with)
		tr, _ := s.talksToB(node)
		s.reaches(tr, "b", s.ear)
		tr.Close()
		s.b.Send(node, manyVotes)
	}
}

func TestATransportHoldsNothingForThoseWhoAreGone(t *testing.T) {
	t.Run("plain", func(t *testing.T) { everybodyGoes(t, newCluster) })
	t.Run("TLS", func(t *testing.T) { everybodyGoes(t, newClusterWithTLS) })
}

func everybodyGoes(t *testing.T, build func(*testing.T, ...string) *cluster) {
	t.Helper()
	w := build(t, "0", "a", "a2", "b", "c", "d")
	if w.dir != "" {
		w.issue(w.authority, grpcrpc.Operator, "op", "op", time.Hour)
	}
	s := &besieged{cluster: w}
	peers := map[string]string{"a": w.addresses["a"], "a2": w.addresses["a2"], "c": w.addresses["c"]}
	s.b = w.build("b", func(c grpcrpc.Config) (*grpcrpc.Transport, error) {
		c.Peers = peers
		return grpcrpc.NewHurried(c, soon)
	})
	require.NoError(t, w.listeners["a2"].Close()) // its process is known to be gone when its connections break
	grpc_health_v1.RegisterHealthServer(s.b.Registrar(), health.NewServer())
	s.ear = w.listenTo(s.b)
	s.a, _ = s.talksToB("a")
	c, earC := s.talksToB("c")
	s.reaches(s.a, "b", s.ear)
	w.reaches(s.b, "c", earC)
	w.reaches(c, "b", s.ear)
	var before grpcrpc.Holdings
	var goroutines int
	w.eventually("nothing is under way", func() bool {
		before, goroutines = s.b.Holdings(), runtime.NumGoroutine()
		return before.Queued == 0 && before.Listed == 0
	})
	for range 2 {
		s.comeAndGo(peers)
	}
	defer func() {
		if t.Failed() {
			t.Logf("before: %+v and %d goroutines; now: %+v and %d", before, goroutines, s.b.Holdings(), runtime.NumGoroutine())
		}
	}()
	w.eventually("as before", func() bool { return s.b.Holdings() == before && runtime.NumGoroutine() <= goroutines })
	s.reaches(s.a, "b", s.ear)
}
