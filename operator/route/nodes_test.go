// Routers of real nodes, over loopback.

package route_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/operator/route"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// enough is more time than anything takes.
const enough = 20 * time.Second

// node is one of three nodes, which can be started again.
type node struct {
	transport *grpcrpc.Transport
	host      *elector.Host
}

// cluster is three nodes with some groups.
type cluster struct {
	addresses []string
	stores    []*memberstate.MemStore
	nodes     []*node
	groups    int
}

func newCluster(tb testing.TB, groups int) *cluster {
	tb.Helper()
	c := &cluster{groups: groups, nodes: make([]*node, 3)}
	var listeners []net.Listener
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(tb, err)
		listeners, c.addresses, c.stores = append(listeners, l), append(c.addresses, l.Addr().String()), append(c.stores, new(memberstate.MemStore))
	}
	for i, l := range listeners {
		c.start(tb, i, l)
	}
	tb.Cleanup(func() {
		for i := range c.nodes {
			c.stop(tb, i)
		}
	})
	return c
}

// start runs a node. All of them have the same groups.
func (c *cluster) start(tb testing.TB, i int, l net.Listener) {
	tb.Helper()
	peers := make(map[string]string)
	for other, address := range c.addresses {
		peers[fmt.Sprint("n", other)] = address
	}
	self := fmt.Sprint("n", i)
	delete(peers, self)
	transport, err := grpcrpc.New(grpcrpc.Config{Self: self, Listener: l, Peers: peers})
	require.NoError(tb, err)
	host, err := elector.NewHost(elector.HostConfig{Self: self, Store: c.stores[i], Transport: transport})
	require.NoError(tb, err)
	operator.Register(transport.Registrar(), host, transport.Address)
	for g := range c.groups {
		_, err := host.Join(elector.GroupConfig{
			Group: fmt.Sprint("g", g), Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(tb, err)
	}
	require.NoError(tb, host.StartAll())
	c.nodes[i] = &node{transport, host}
}

// stop ends a node, without a handover.
func (c *cluster) stop(tb testing.TB, i int) {
	tb.Helper()
	at := c.nodes[i]
	if at == nil {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	assert.NoError(tb, at.host.Close(ended))
	at.transport.Close()
	c.nodes[i] = nil
}

// handOver has the leader of a group hand over.
func (c *cluster) handOver(tb testing.TB, leader, group string) {
	tb.Helper()
	require.NoError(tb, c.nodes[leader[1]-'0'].host.Elector(group).TransferLeadership(tb.Context(), ""))
}

// The router finds each leader, and the next one, whichever nodes are there.
func TestARouterFindsTheLeadersOfRealNodes(t *testing.T) {
	c := newCluster(t, 20)
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	r, err := route.New(ctx, route.Config{Addresses: c.addresses[:2]})
	require.NoError(t, err)
	defer r.Close()
	for g := range c.groups {
		found, err := r.Await(ctx, fmt.Sprint("g", g))
		require.NoError(t, err)
		assert.Equal(t, c.addresses[found.ID[1]-'0'], found.Address, "also of a node that leads by itself")
	}
	for range 5 {
		before, err := r.Await(ctx, "g7")
		require.NoError(t, err)
		c.handOver(t, before.ID, "g7")
		r.Refused("g7", before.Term)
		after, err := r.Await(ctx, "g7")
		require.NoError(t, err)
		assert.Greater(t, after.Term, before.Term)
		assert.NotEqual(t, before.ID, after.ID)
	}
	// Each of the two nodes that it reads is started again.
	for i := range 2 {
		before, err := r.Await(ctx, "g3")
		require.NoError(t, err)
		c.stop(t, i)
		l, err := net.Listen("tcp", c.addresses[i])
		require.NoError(t, err)
		c.start(t, i, l)
		if before.ID == fmt.Sprint("n", i) {
			r.Refused("g3", before.Term)
		}
		after, err := r.Await(ctx, "g3")
		require.NoError(t, err)
		assert.GreaterOrEqual(t, after.Term, before.Term)
	}
}

// What is wrong with the files is an error of New, and not of a reader that nobody waits for.
func TestARouterWithoutACertificateIsAnError(t *testing.T) {
	dir := t.TempDir()
	files := certs.Files(dir, "nobody")
	_, err := route.New(t.Context(), route.Config{Addresses: slices.Repeat([]string{"127.0.0.1:1"}, route.MaxNodes), TLS: &files})
	require.ErrorContains(t, err, "route: 127.0.0.1:1: ", "there may be as many nodes")
	assert.ErrorContains(t, err, dir)
}

// A router shows its operator's certificate to nodes that want one.
func TestARouterFindsTheLeaderOfANodeWithTLS(t *testing.T) {
	dir := t.TempDir()
	authority, err := certs.NewAuthority(time.Now(), time.Hour)
	require.NoError(t, err)
	require.NoError(t, authority.WriteAuthority(dir))
	for name, role := range map[string]grpcrpc.Role{"n0": grpcrpc.Member, "alice": grpcrpc.Operator} {
		pair, err := authority.Issue(certs.Request{Identity: grpcrpc.Identity{Role: role, Name: name}, Now: time.Now(), Lifetime: time.Hour})
		require.NoError(t, err)
		require.NoError(t, pair.Write(dir, name, false))
	}
	own, files := certs.Files(dir, "n0"), certs.Files(dir, "alice")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	transport, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: l, TLS: &own})
	require.NoError(t, err)
	defer transport.Close()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: transport})
	require.NoError(t, err)
	operator.Register(transport.Registrar(), host, transport.Address)
	_, err = host.Join(elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	require.NoError(t, err)
	require.NoError(t, host.StartAll())
	defer func() { assert.NoError(t, host.Close(context.Background())) }()

	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	r, err := route.New(ctx, route.Config{Addresses: []string{l.Addr().String()}, TLS: &files})
	require.NoError(t, err)
	defer r.Close()
	found, err := r.Await(ctx, "orders")
	require.NoError(t, err)
	assert.Equal(t, route.Leader{ID: "n0", Address: l.Addr().String(), Term: found.Term}, found)
}

// A prefix leaves out the groups that a router has nothing to do with.
func TestARouterMayReadSomeGroups(t *testing.T) {
	c := newCluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	r, err := route.New(ctx, route.Config{Addresses: c.addresses[:1], Prefix: "g1"})
	require.NoError(t, err)
	defer r.Close()
	found, err := r.Await(ctx, "g1")
	require.NoError(t, err)
	assert.NotEmpty(t, found.ID)
	_, ok := r.Leader("g2")
	assert.False(t, ok)
}

// BenchmarkTwoTables hands a group over, again and again, while a reader reads the table of each of three nodes over TCP. It
// measures for how long their tables differ: from the first one that has the new leader to the last.
func BenchmarkTwoTables(b *testing.B) {
	c := newCluster(b, 1)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	seen, begun := make(chan sight, 1024), time.Now() // so that no reader is held up
	for i, address := range c.addresses {
		go readTable(ctx, b, i, address, seen, begun)
	}
	now := nextTables(seen, 0)
	var differ []time.Duration
	for b.Loop() {
		c.handOver(b, now.leader, "g0")
		now = nextTables(seen, now.term)
		differ = append(differ, now.last-now.first)
	}
	cancel()
	slices.Sort(differ)
	for unit, at := range map[string]int{"p50-µs": len(differ) / 2, "p99-µs": len(differ) * 99 / 100, "max-µs": len(differ) - 1} {
		b.ReportMetric(float64(differ[at].Nanoseconds())/1000, unit)
	}
}

// sight is a row that a reader has.
type sight struct {
	node int
	row  operator.Row
	at   time.Duration
}

func readTable(ctx context.Context, b *testing.B, node int, address string, seen chan<- sight, begun time.Time) {
	b.Helper()
	client, err := operator.Dial(address, nil)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = client.Close() }()
	for rows, err := range client.Table(ctx, "") {
		if err != nil {
			b.Error(err)
			return
		}
		at := time.Since(begun)
		for _, row := range rows.Rows {
			select {
			case seen <- sight{node, row, at}:
			case <-ctx.Done():
			}
		}
	}
}

// agreed is a leader that all tables have, with the times at which the first one and the last one had it.
type agreed struct {
	term        memberstate.Term
	leader      string
	first, last time.Duration
}

// nextTables waits until all tables have a leader of the same later term.
func nextTables(seen <-chan sight, after memberstate.Term) agreed {
	have := make(map[memberstate.Term]map[int]time.Duration)
	for s := range seen {
		if s.row.Leader == "" || s.row.Term <= after {
			continue
		}
		if have[s.row.Term] == nil {
			have[s.row.Term] = make(map[int]time.Duration)
		}
		if _, again := have[s.row.Term][s.node]; !again {
			have[s.row.Term][s.node] = s.at
		}
		if times := slices.Sorted(maps.Values(have[s.row.Term])); len(times) == 3 {
			return agreed{s.row.Term, s.row.Leader, times[0], times[2]}
		}
	}
	return agreed{}
}
