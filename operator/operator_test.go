// Three nodes on loopback, inspected and commanded by an operator.

package operator_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is three nodes with TLS, and the files of an operator.
type site struct {
	t         *testing.T
	ctx       context.Context
	addresses map[string]string
	members   map[string]*elector.Elector
	files     *grpcrpc.TLS
	change    func(*elector.GroupConfig) // a test's changes
}

var nodes = []string{"n0", "n1", "n2"}

func newSite(t *testing.T, change ...func(*elector.GroupConfig)) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, addresses: map[string]string{}, members: map[string]*elector.Elector{}, change: func(c *elector.GroupConfig) {
		for _, f := range change {
			f(c)
		}
	}}
	dir := t.TempDir()
	s.certify(dir)
	listeners := map[string]net.Listener{}
	for _, node := range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners[node], s.addresses[node] = l, l.Addr().String()
	}
	for _, node := range nodes {
		s.open(node, listeners[node], certs.Files(dir, node))
	}
	return s
}

func (s *site) certify(dir string) {
	s.t.Helper()
	a, err := certs.NewAuthority(time.Now(), time.Hour)
	require.NoError(s.t, err)
	require.NoError(s.t, a.WriteAuthority(dir))
	for name, role := range map[string]grpcrpc.Role{"n0": grpcrpc.Member, "n1": grpcrpc.Member, "n2": grpcrpc.Member, "alice": grpcrpc.Operator} {
		pair, err := a.Issue(certs.Request{Identity: grpcrpc.Identity{Role: role, Name: name}, Now: time.Now(), Lifetime: time.Hour})
		require.NoError(s.t, err)
		require.NoError(s.t, pair.Write(dir, name, false))
	}
	files := certs.Files(dir, "alice")
	s.files = &files
}

// open runs a node until the test ends.
func (s *site) open(node string, l net.Listener, files grpcrpc.TLS) {
	s.t.Helper()
	peers := maps.Clone(s.addresses)
	delete(peers, node)
	tr, err := grpcrpc.New(grpcrpc.Config{Self: node, Listener: l, Peers: peers, TLS: &files})
	require.NoError(s.t, err)
	s.t.Cleanup(tr.Close)
	host, err := elector.NewHost(elector.HostConfig{Self: node, Store: new(memberstate.MemStore), Transport: tr})
	require.NoError(s.t, err)
	operator.Register(tr.Registrar(), host, tr.Address)
	config := elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters(nodes...), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	}
	s.change(&config)
	el, err := host.Join(config)
	require.NoError(s.t, err)
	require.NoError(s.t, el.Start())
	s.members[node] = el
	s.t.Cleanup(func() {
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		assert.NoError(s.t, el.Stop(stopped))
	})
}

func (s *site) dial(node string) *operator.Client {
	s.t.Helper()
	c, err := operator.Dial(s.addresses[node], s.files)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, c.Close()) })
	return c
}

// leader waits until n1 knows the leader of a term after this one.
func (s *site) leader(after memberstate.Term) elector.Status {
	s.t.Helper()
	for now, err := range s.dial("n1").Watch(s.ctx, "orders") {
		require.NoError(s.t, err)
		if now.Leader != "" && now.Term > after {
			return now
		}
	}
	require.FailNow(s.t, "no leader")
	return elector.Status{}
}

// settled waits for a leader that keeps its office from now on, also where the machine has so much other work that nodes are
// silent for long.
func (s *site) settled() elector.Status {
	s.t.Helper()
	s.leader(0)
	patient := elector.DefaultTiming()
	patient.Leak = 10
	for _, m := range s.members {
		require.NoError(s.t, m.SetTiming(patient))
	}
	return s.leader(0)
}

func (s *site) dialLeader() *operator.Client {
	s.t.Helper()
	c, err := operator.DialLeader(s.ctx, []string{"127.0.0.1:1", s.addresses["n1"]}, s.files, "orders")
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, c.Close()) })
	return c
}

func TestOperatorsInspectAndCommandNodes(t *testing.T) {
	s := newSite(t)
	first := s.leader(0)
	leader := s.dialLeader()
	assert.Equal(t, s.addresses[first.Leader], leader.Address())

	all, err := leader.Status(s.ctx, "")
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, memberstate.Leader, all[0].Role)
	assert.Equal(t, first.Leader, all[0].Self)

	members, err := leader.Members(s.ctx, "orders")
	require.NoError(t, err)
	require.Len(t, members, 3)
	for _, m := range members {
		if m.ID != first.Leader {
			assert.Equal(t, s.addresses[m.ID], m.Address)
		}
	}

	to := other(first.Leader)
	undoing, err := leader.Transfer(s.ctx, "orders", to)
	require.NoError(t, err)
	assert.Nil(t, undoing)
	second := s.leader(first.Term)
	assert.Equal(t, to, second.Leader)

	require.NoError(t, s.dialLeader().Resign(s.ctx, "orders"))
	third := s.leader(second.Term)
	assert.NotEqual(t, to, third.Leader)
}

func other(node string) string {
	for _, n := range nodes {
		if n != node {
			return n
		}
	}
	return ""
}

func TestARefusalIsTheNodesOwnError(t *testing.T) {
	s := newSite(t)
	now := s.leader(0)
	follower := s.dial(other(now.Leader))
	assert.ErrorIs(t, follower.Resign(s.ctx, "orders"), elector.ErrNotLeader)
	assert.ErrorContains(t, follower.Resign(s.ctx, "orders"), s.addresses[other(now.Leader)], "the error names the node")
	_, err := s.dial(now.Leader).Transfer(s.ctx, "orders", "n9")
	assert.ErrorIs(t, err, elector.ErrTransferFailed)
	assert.ErrorContains(t, err, "n9")
	_, err = follower.Members(s.ctx, "nothing")
	assert.ErrorContains(t, err, `no group "nothing"`)
	_, err = operator.DialLeader(s.ctx, []string{s.addresses["n0"]}, s.files, "nothing")
	assert.ErrorContains(t, err, `no group "nothing"`)
	nobody, err := operator.Dial("127.0.0.1:1", nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, nobody.Close()) }()
	_, err = nobody.Status(s.ctx, "")
	assert.EqualError(t, err, "127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused")
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err = follower.Status(ended, "")
	assert.ErrorIs(t, err, context.Canceled)
}

// An operator gets the reasons, as text and as values.
func TestTheReasonsOfAFailedTransferReachTheOperator(t *testing.T) {
	s := newSite(t, func(c *elector.GroupConfig) {
		c.Pause = func(context.Context, memberstate.Term) error { return errors.New("the engine is stuck") }
	})
	now := s.leader(0)
	to := other(now.Leader)
	_, err := s.dial(now.Leader).Transfer(s.ctx, "orders", to)
	require.ErrorIs(t, err, elector.ErrTransferFailed)
	assert.ErrorContains(t, err, to+" could take over, but writes here could not be paused: the engine is stuck")
	var failed *elector.TransferError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, &elector.TransferError{Group: "orders", Term: now.Term, Obstacles: []protocol.Obstacle{
		{Voter: to, Hindrance: protocol.HinderedNotPaused, Cause: "the engine is stuck"},
	}}, failed)
	_, err = s.dial(now.Leader).Transfer(s.ctx, "orders", now.Leader)
	assert.NoError(t, err, "it leads already")
}

// A transfer away from a preferred leader will be undone, and says so.
func TestATransferReportsThatItWillBeUndone(t *testing.T) {
	s := newSite(t, func(c *elector.GroupConfig) { c.Preferred = []string{"n0"} })
	leader, first := s.dial("n0"), memberstate.Term(0)
	for now, err := range leader.Watch(s.ctx, "orders") {
		require.NoError(t, err)
		if first = now.Term; now.Role == memberstate.Leader {
			break
		}
	}
	undoing, err := leader.Transfer(s.ctx, "orders", "n1")
	require.NoError(t, err)
	assert.Equal(t, &operator.Undoing{Preferred: []string{"n0"}, After: elector.DefaultTiming().Detection()}, undoing)
	for now, err := range leader.Watch(s.ctx, "orders") {
		require.NoError(t, err)
		if now.Leader == "n0" && now.Term > first {
			break
		}
	}
	undoing, err = leader.Transfer(s.ctx, "orders", "n0")
	require.NoError(t, err)
	assert.Nil(t, undoing, "it leads already, and is preferred")
}

// Whether a transfer will be undone depends on the new leader, even if none was named.
func TestATransferToAnyOfThosePreferredIsNotUndone(t *testing.T) {
	s := newSite(t, func(c *elector.GroupConfig) { c.Preferred = nodes })
	undoing, err := s.dial(s.leader(0).Leader).Transfer(s.ctx, "orders", "")
	require.NoError(t, err)
	assert.Nil(t, undoing)
}

// Observers are listed as such, with their addresses.
func TestObserversAreListedAsSuch(t *testing.T) {
	s := newSite(t, func(c *elector.GroupConfig) {
		c.Members = append(memberstate.Voters("n0", "n1"), memberstate.Member{ID: "n2", Observer: true})
	})
	members, err := s.dial("n0").Members(s.ctx, "orders")
	require.NoError(t, err)
	want := []operator.Member{{Member: memberstate.Member{ID: "n0"}}, {Member: memberstate.Member{ID: "n1"}}, {Member: memberstate.Member{ID: "n2", Observer: true}}}
	for i := range want[1:] {
		want[1+i].Address = s.addresses[want[1+i].ID]
	}
	assert.Equal(t, want, members)
}

// Without an operator's certificate Dial fails, not the first call.
func TestWithoutACertificateThereIsNoClient(t *testing.T) {
	dir := t.TempDir()
	files := certs.Files(dir, "nobody")
	c, err := operator.Dial("127.0.0.1:1", &files)
	require.ErrorContains(t, err, dir)
	assert.Nil(t, c)
	c, err = operator.DialLeader(t.Context(), []string{"127.0.0.1:1", "127.0.0.1:2"}, &files, "orders")
	require.ErrorContains(t, err, dir)
	assert.Nil(t, c)
}

// If no node knows the leader, the error has the reason of each.
func TestEveryNodesReasonIsReportedIfNoLeaderIsKnown(t *testing.T) {
	addresses := []string{"127.0.0.1:1", "127.0.0.1:2"}
	_, err := operator.DialLeader(t.Context(), addresses, nil, "orders")
	for _, address := range addresses {
		assert.ErrorContains(t, err, address)
	}
}

// A node that accepts connections and never answers delays no command.
func TestANodeThatHangsDelaysNoCommand(t *testing.T) {
	s := newSite(t)
	now := s.leader(0)
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, hangs.Close()) }()
	c, err := operator.DialLeader(s.ctx, []string{hangs.Addr().String(), s.addresses["n1"]}, s.files, "orders")
	require.NoError(t, err, "within the test's time")
	assert.Equal(t, s.addresses[now.Leader], c.Address())
	require.NoError(t, c.Close())
}

func TestAReportHasItsMeasurements(t *testing.T) {
	s := newSite(t, func(c *elector.GroupConfig) {
		c.Leases = true
		c.LedgerEnd = func(memberstate.Term) memberstate.Position { return memberstate.Position{Index: 3} }
	})
	now := s.leader(0)
	leader := s.dial(now.Leader)
	assert.Eventually(t, func() bool {
		all, err := leader.Status(s.ctx, "orders")
		return err == nil && len(all) == 1 && all[0].Lease > 0 && all[0].QuorumAge > 0
	}, 20*time.Second, time.Millisecond)
	all, err := leader.Status(s.ctx, "orders")
	require.NoError(t, err)
	assert.Equal(t, memberstate.Position{Index: 3}, all[0].Ledger)
	require.NoError(t, leader.Resign(s.ctx, "orders"))
	next := s.leader(now.Term)
	assert.Equal(t, now.Leader, next.LastLeader)
	assert.Equal(t, protocol.DepartedHandedOver, next.Departure)
}
