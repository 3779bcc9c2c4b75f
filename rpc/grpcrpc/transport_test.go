// The acceptance test of all transports, configurations, peers and files.

package grpcrpc_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
	"github.com/hustings/hustings/rpc/rpctest"
)

func TestTransport(t *testing.T) {
	for name, build := range map[string]func(*testing.T, ...string) *cluster{"plain": newCluster, "TLS": newClusterWithTLS} {
		t.Run(name, func(t *testing.T) {
			clusters := map[string]*cluster{}
			rpctest.Run(t, func(t *testing.T, node string) rpc.Transport {
				t.Helper()
				if clusters[t.Name()] == nil {
					clusters[t.Name()] = build(t, "a", "b", "c")
				}
				return clusters[t.Name()].open(node)
			})
		})
	}
}

func TestAConfigurationIsChecked(t *testing.T) {
	loopback, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, loopback.Close()) }()
	everywhere, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	one := at{loopback, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}}
	good := grpcrpc.Config{Self: "a", Listener: loopback}
	for says, spoil := range map[string]func(*grpcrpc.Config){
		"Self has 0 bytes":                        func(c *grpcrpc.Config) { c.Self = "" },
		"Self has 256 bytes":                      func(c *grpcrpc.Config) { c.Self = strings.Repeat("a", 256) },
		"Listener is nil":                         func(c *grpcrpc.Config) { c.Listener = nil },
		"TLS is nil, and":                         func(c *grpcrpc.Config) { c.Listener = everywhere },
		"192.0.2.1:80 is not a loopback address":  func(c *grpcrpc.Config) { c.Listener = one },
		"includes Self":                           func(c *grpcrpc.Config) { c.Peers = map[string]string{"a": "localhost:1"} },
		`Peers has the address "nowhere" for "b"`: func(c *grpcrpc.Config) { c.Peers = map[string]string{"b": "nowhere"} },
		"no such file":                            func(c *grpcrpc.Config) { c.TLS = &grpcrpc.TLS{CA: "none", Cert: "none", Key: "none"} },
		"grpcrpc: TLS.CA is empty":                func(c *grpcrpc.Config) { c.TLS = new(grpcrpc.TLS) },
		"grpcrpc: TLS.Cert is empty":              func(c *grpcrpc.Config) { c.TLS = new(grpcrpc.TLS) },
		"grpcrpc: TLS.Key is empty":               func(c *grpcrpc.Config) { c.TLS = &grpcrpc.TLS{CA: "none", Cert: "none"} },
	} {
		c := good
		spoil(&c)
		_, err := grpcrpc.New(c)
		assert.ErrorContains(t, err, says)
	}
	trusting := good
	trusting.Listener, trusting.TrustNetwork = everywhere, true
	local := good
	local.Listener = at{listenAnywhere(t), &net.UnixAddr{Name: "hustings.sock", Net: "unix"}} // no other machine can reach it
	for _, c := range []grpcrpc.Config{trusting, local} {
		tr, err := grpcrpc.New(c)
		require.NoError(t, err)
		tr.Close()
	}
}

// at is a listener that has another address.
type at struct {
	net.Listener
	addr net.Addr
}

func (l at) Addr() net.Addr { return l.addr }

func TestAnOperatorNamesItsFiles(t *testing.T) {
	_, err := grpcrpc.Dial("localhost:1", new(grpcrpc.TLS))
	assert.ErrorContains(t, err, "TLS.Cert is empty")
}

func TestACertificateOfAnotherNodeIsRefused(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	w.issue(w.authority, grpcrpc.Member, "b", "a", 1e12)
	files := grpcrpc.TLS{CA: w.dir + "/ca.crt", Cert: w.dir + "/a.crt", Key: w.dir + "/a.key"}
	_, err := grpcrpc.New(grpcrpc.Config{Self: "a", Listener: w.listeners["a"], TLS: &files})
	assert.ErrorContains(t, err, "the certificate is that of hustings://member/b, not of member a")
}

func TestServingWithoutAHandlerIsAnError(t *testing.T) {
	_, err := newCluster(t, "a").open("a").Serve(nil)
	assert.ErrorContains(t, err, "nil handler")
}

func TestServingAfterCloseIsAnError(t *testing.T) {
	w := newCluster(t, "a", "b")
	tr := w.open("a")
	tr.Close()
	_, err := tr.Serve(new(ear))
	assert.ErrorContains(t, err, "closed")
	tr.Send("b", []rpc.Message{vote(1)}) // does nothing
}

// Links to peers that keep their address are kept. A node ignores itself in the list, because all
// nodes may have the same list.
func TestPeersAreReplaced(t *testing.T) {
	w := newCluster(t, "b")
	w.addresses["a"], w.addresses["c"] = "127.0.0.1:1", "127.0.0.1:2" // one calls, and one is called
	tr := w.open("b")
	tr.SetPeers(map[string]string{"a": "127.0.0.1:3", "b": w.addresses["b"], "c": "127.0.0.1:4", "d": "127.0.0.1:5"})
	assert.Equal(t, map[string]bool{"a": false, "c": false, "d": false}, tr.Connected())
	assert.Equal(t, "127.0.0.1:3", tr.Address("a"))
	assert.Equal(t, "127.0.0.1:4", tr.Address("c"))
	assert.Equal(t, "127.0.0.1:5", tr.Address("d"))
	tr.SetPeers(map[string]string{"c": "127.0.0.1:4"})
	assert.Equal(t, map[string]bool{"c": false}, tr.Connected())
}

// Otherwise each reload of a configuration would look like the death of all other nodes.
func TestAPeerThatKeepsItsAddressIsNotCutOff(t *testing.T) {
	w := newCluster(t, "a", "b")
	a, _ := w.serve("a")
	b, ear := w.serve("b")
	w.reaches(a, "b", ear)
	connections := func() uint64 { return a.Stats().Connected + b.Stats().Connected }
	before := connections()
	a.SetPeers(map[string]string{"b": w.addresses["b"], "c": "127.0.0.1:1"})
	b.SetPeers(map[string]string{"a": w.addresses["a"], "c": "127.0.0.1:1"})
	assert.True(t, a.Connected()["b"])
	assert.True(t, b.Connected()["a"])
	w.reaches(a, "b", ear)
	assert.Equal(t, before, connections(), "over the same one")
	assert.Empty(t, ear.lost)
}

// A link that is made while the transport closes must not be started: starting it while Close waits
// for the others would panic.
func TestPeersMayChangeWhileTheTransportCloses(t *testing.T) {
	for range 100 {
		w := newCluster(t, "b")
		tr := w.open("b")
		stop, err := tr.Serve(new(ear))
		require.NoError(t, err)
		stop()
		begun := make(chan struct{})
		var changing sync.WaitGroup
		for _, peers := range []map[string]string{{"a": "127.0.0.1:1"}, {"c": "127.0.0.1:1"}} {
			changing.Go(func() {
				for i := range 300 {
					tr.SetPeers(peers)
					tr.SetPeers(nil)
					if i == 0 {
						begun <- struct{}{}
					}
				}
			})
		}
		<-begun
		<-begun
		tr.Close()
		changing.Wait()
	}
}

func TestFilesThatCannotBeReadAreNamed(t *testing.T) {
	for name, spoil := range map[string]func(files *grpcrpc.TLS, spoilt string){
		"CA":   func(files *grpcrpc.TLS, spoilt string) { files.CA = spoilt },
		"Cert": func(files *grpcrpc.TLS, spoilt string) { files.Cert = spoilt },
		"Key":  func(files *grpcrpc.TLS, spoilt string) { files.Key = spoilt },
	} {
		t.Run(name, func(t *testing.T) {
			w := newClusterWithTLS(t, "a")
			files, spoilt := certs.Files(w.dir, "a"), t.TempDir() // a directory
			spoil(&files, spoilt)
			_, err := grpcrpc.New(grpcrpc.Config{Self: "a", Listener: w.listeners["a"], TLS: &files})
			require.ErrorContains(t, err, spoilt)
		})
	}
}
