// The transport passes the acceptance test of all transports, and refuses a
// configuration that cannot be meant.

package grpcrpc_test

import (
	"net"
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
	for name, build := range map[string]func(*testing.T, ...string) *town{"plain": newTown, "TLS": newTownWithTLS} {
		t.Run(name, func(t *testing.T) {
			towns := map[string]*town{}
			rpctest.Run(t, func(t *testing.T, node string) rpc.Transport {
				t.Helper()
				if towns[t.Name()] == nil {
					towns[t.Name()] = build(t, "a", "b", "c")
				}
				return towns[t.Name()].open(node)
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
	good := grpcrpc.Config{Self: "a", Listener: loopback}
	for says, spoil := range map[string]func(*grpcrpc.Config){
		"Self has 0 bytes":                        func(c *grpcrpc.Config) { c.Self = "" },
		"Listener is nil":                         func(c *grpcrpc.Config) { c.Listener = nil },
		"TLS is nil, and":                         func(c *grpcrpc.Config) { c.Listener = everywhere },
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
	tr, err := grpcrpc.New(trusting)
	require.NoError(t, err)
	tr.Close()
}

func TestAnOperatorNamesItsFiles(t *testing.T) {
	_, err := grpcrpc.Dial("localhost:1", new(grpcrpc.TLS))
	assert.ErrorContains(t, err, "TLS.Cert is empty")
}

func TestACertificateOfAnotherIsNoneOfOurs(t *testing.T) {
	w := newTownWithTLS(t, "a", "b")
	w.issue(w.authority, grpcrpc.Member, "b", "a", 1e12)
	files := grpcrpc.TLS{CA: w.dir + "/ca.crt", Cert: w.dir + "/a.crt", Key: w.dir + "/a.key"}
	_, err := grpcrpc.New(grpcrpc.Config{Self: "a", Listener: w.listeners["a"], TLS: &files})
	assert.ErrorContains(t, err, "the certificate is that of hustings://member/b, not of member a")
}

// Without a handler there is nobody to deliver to.
func TestServingNobodyIsAnError(t *testing.T) {
	_, err := newTown(t, "a").open("a").Serve(nil)
	assert.ErrorContains(t, err, "nil handler")
}

func TestServingAfterCloseIsAnError(t *testing.T) {
	w := newTown(t, "a", "b")
	tr := w.open("a")
	tr.Close()
	_, err := tr.Serve(new(ear))
	assert.ErrorContains(t, err, "closed")
	tr.Send("b", []rpc.Message{vote(1)}) // does nothing
}

// Of the new peers those are new that have come or moved. A node is no peer of its own,
// though it may well be in a list that all nodes are given.
func TestPeersAreReplaced(t *testing.T) {
	w := newTown(t, "a")
	w.addresses["b"] = "127.0.0.1:1"
	tr := w.open("a")
	tr.SetPeers(map[string]string{"a": w.addresses["a"], "b": "127.0.0.1:2", "c": "127.0.0.1:3"})
	assert.Equal(t, map[string]bool{"b": false, "c": false}, tr.Connected())
	assert.Equal(t, "127.0.0.1:2", tr.Address("b"))
	assert.Equal(t, "127.0.0.1:3", tr.Address("c"))
	tr.SetPeers(map[string]string{"b": "127.0.0.1:2"})
	assert.Equal(t, map[string]bool{"b": false}, tr.Connected())
}

// Links that are made while the transport closes are not started any more: to
// start one while Close waits for those that run panics.
func TestPeersMayChangeWhileTheTransportCloses(t *testing.T) {
	for range 100 {
		w := newTown(t, "b")
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

// Files that cannot be read are named at once.
func TestFilesThatCannotBeReadAreAnError(t *testing.T) {
	for name, spoil := range map[string]func(files *grpcrpc.TLS, spoilt string){
		"CA":   func(files *grpcrpc.TLS, spoilt string) { files.CA = spoilt },
		"Cert": func(files *grpcrpc.TLS, spoilt string) { files.Cert = spoilt },
		"Key":  func(files *grpcrpc.TLS, spoilt string) { files.Key = spoilt },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTownWithTLS(t, "a")
			files, spoilt := certs.Files(w.dir, "a"), t.TempDir() // it is there, and is no file
			spoil(&files, spoilt)
			_, err := grpcrpc.New(grpcrpc.Config{Self: "a", Listener: w.listeners["a"], TLS: &files})
			require.ErrorContains(t, err, spoilt)
		})
	}
}
