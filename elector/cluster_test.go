// A cluster: one group on hosts with real goroutines, on a simulated network, in virtual time.

package elector_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// cluster is a group of nodes in one process, each with a host of its own.
type cluster struct {
	t       *testing.T
	network *rpc.Network
	ids     []string
	nodes   map[string]*node
	change  func(*config)    // what a test configures differently; may be nil
	clock   func() time.Time // nil: time.Now
	offices offices
}

// node is a node in its current incarnation.
type node struct {
	id    string
	store *memberstate.MemStore
	el    *elector.Elector
	err   chan error         // what Run returned
	end   context.CancelFunc // ends Run; nil if the node does not run
}

// offices records the calls of Lead that have not returned. It fails the test if two calls of
// one member overlap, or if a term is served twice.
type offices struct {
	mu      sync.Mutex
	serving map[string]memberstate.Term
	terms   map[memberstate.Term]string
	opened  int
}

// withCluster plays a test with a running cluster, in virtual time.
func withCluster(t *testing.T, size int, change func(*config), play func(*cluster)) {
	t.Helper()
	withNewCluster(t, size, change, func(cluster *cluster) {
		cluster.startAll()
		play(cluster)
	})
}

// withNewCluster is withCluster for tests that start the nodes themselves.
func withNewCluster(t *testing.T, size int, change func(*config), play func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := &cluster{t: t, network: rpc.NewNetwork(1), nodes: map[string]*node{}, change: change}
		cluster.network.SetAll(rpc.Link{Delay: time.Millisecond})
		cluster.offices.serving, cluster.offices.terms = map[string]memberstate.Term{}, map[memberstate.Term]string{}
		for i := range size {
			id := fmt.Sprintf("n%d", i)
			cluster.ids = append(cluster.ids, id)
			cluster.nodes[id] = &node{id: id, store: new(memberstate.MemStore)}
		}
		defer cluster.stopAll()
		play(cluster)
	})
}

func (cluster *cluster) startAll() {
	for _, id := range cluster.ids {
		cluster.start(id)
	}
}

// stopAll stops all nodes and waits for them.
func (cluster *cluster) stopAll() {
	var ending []*node
	for _, n := range cluster.nodes {
		if n.end != nil {
			cluster.beginStop(n)
			ending = append(ending, n)
		}
	}
	for _, n := range ending {
		assert.NoError(cluster.t, <-n.err)
	}
}

// start begins an incarnation of a node.
func (cluster *cluster) start(id string) {
	cluster.t.Helper()
	n := cluster.nodes[id]
	c := config{
		elector.HostConfig{Self: id, Store: n.store, Transport: cluster.network.Join(id)},
		elector.GroupOf("g", cluster.ids...),
	}
	c.Lead = func(ctx context.Context, term memberstate.Term) error { return cluster.serve(ctx, id, term) }
	if cluster.change != nil {
		cluster.change(&c)
	}
	el := newElector(cluster.t, c)
	if cluster.clock != nil {
		elector.SetClock(el, cluster.clock)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.el, n.end, n.err = el, cancel, make(chan error, 1)
	go func() { n.err <- el.Run(ctx) }()
}

// stop stops a node as an operator does, and waits for it.
func (cluster *cluster) stop(n *node) error {
	cluster.beginStop(n)
	return <-n.err
}

// beginStop stops a node and does not wait for it.
func (cluster *cluster) beginStop(n *node) {
	n.end()
	n.end = nil
}

// kill stops a node that has no time to hand over.
func (cluster *cluster) kill(n *node) {
	cluster.t.Helper()
	require.NoError(cluster.t, n.el.Stop(endedContext()))
	n.end = nil
}

// serve is the engine's Lead.
func (cluster *cluster) serve(ctx context.Context, id string, term memberstate.Term) error {
	o := &cluster.offices
	o.mu.Lock()
	assert.NotContains(cluster.t, o.serving, id, "two calls of Lead overlap")
	assert.NotContains(cluster.t, o.terms, term, "the term was served before")
	o.serving[id], o.terms[term] = term, id
	o.opened++
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock()
	delete(o.serving, id)
	o.mu.Unlock()
	return nil
}

// serves says whether a call of the node's Lead has not returned.
func (cluster *cluster) serves(n *node) bool {
	cluster.offices.mu.Lock()
	defer cluster.offices.mu.Unlock()
	_, serves := cluster.offices.serving[n.id]
	return serves
}

// awaitLeader waits until some node leads and all running ones follow it.
func (cluster *cluster) awaitLeader() *node {
	cluster.t.Helper()
	for range 10000 {
		if n := cluster.agreedLeader(); n != nil {
			return n
		}
		cluster.pass(time.Millisecond)
	}
	cluster.t.Fatal("no leader")
	return nil
}

// agreedLeader is the leader that all running nodes agree on, nil if they do not.
func (cluster *cluster) agreedLeader() *node {
	var leader *node
	for _, n := range cluster.nodes {
		if n.end != nil && n.el.Status().Role == memberstate.Leader {
			leader = n
		}
	}
	for _, n := range cluster.nodes {
		if n.end != nil && (leader == nil || n.el.Status().Leader != leader.id) {
			return nil
		}
	}
	return leader
}

// others are all nodes except one, in the order of their ids.
func (cluster *cluster) others(except *node) []*node {
	var others []*node
	for _, id := range cluster.ids {
		if id != except.id {
			others = append(others, cluster.nodes[id])
		}
	}
	return others
}

// pass lets virtual time pass.
func (cluster *cluster) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// cut cuts all links of a node.
func (cluster *cluster) cut(id string) { cluster.link(id, rpc.Link{Cut: true}) }

// reconnect repairs all links of a node.
func (cluster *cluster) reconnect(id string) { cluster.link(id, rpc.Link{Delay: time.Millisecond}) }

func (cluster *cluster) link(id string, l rpc.Link) {
	for _, other := range cluster.ids {
		cluster.network.SetLink(id, other, l)
		cluster.network.SetLink(other, id, l)
	}
}

// deafen cuts the links to a node, so that the others hear it and it does not hear them.
func (cluster *cluster) deafen(n *node) {
	for _, other := range cluster.others(n) {
		cluster.network.SetLink(other.id, n.id, rpc.Link{Cut: true})
	}
}
