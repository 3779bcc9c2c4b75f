// Nodes are drained by operators, in virtual time; the wire is left out, except in the last tests.

package operator

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/electiontest"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// crew is three nodes with some groups, in one process.
type crew struct {
	t       *testing.T
	nodes   []*service
	ledgers *electiontest.Ledgers
}

// write has a node write in all groups what their leaders have written.
func (c *crew) write(node int) {
	c.t.Helper()
	for _, el := range c.nodes[node].host.Electors() {
		c.ledgers.Write(c.t, el)
	}
}

// withCrew plays a test with three nodes whose groups have leaders, in virtual time.
func withCrew(t *testing.T, groups int, play func(c crew)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		timing := elector.DefaultTiming()
		timing.Leak = 9 // so that a drain in vain takes some seconds
		c := crew{t: t, ledgers: new(electiontest.Ledgers)}
		for i := range 3 {
			id := fmt.Sprint("n", i)
			host, err := elector.NewHost(elector.HostConfig{Self: id, Store: new(memberstate.MemStore), Transport: network.Join(id)})
			require.NoError(t, err)
			_, err = host.JoinAll(func(yield func(elector.GroupConfig) bool) {
				for g := range groups {
					group := fmt.Sprint("g", g)
					one := elector.GroupConfig{
						Group: group, Members: memberstate.Voters("n0", "n1", "n2"), Timing: timing,
						LedgerEnd: func(memberstate.Term) memberstate.Position { return c.ledgers.End(id, group) },
					}
					if !yield(one) {
						return
					}
				}
			})
			require.NoError(t, err)
			require.NoError(t, host.StartAll())
			c.nodes = append(c.nodes, &service{host: host, address: func(node string) string { return "at " + node }})
		}
		<-time.After(5 * time.Second)
		play(c)
		for _, s := range c.nodes {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			require.NoError(t, s.host.Close(ended))
		}
	})
}

// drains is the stream of an operator who drains.
type drains struct {
	grpc.ServerStream
	ctx    context.Context
	answer func(*electorpb.DrainResponse) error
	got    []*electorpb.DrainResponse
}

func (d *drains) Context() context.Context { return d.ctx }

func (d *drains) Send(r *electorpb.DrainResponse) error {
	d.got = append(d.got, r)
	if d.answer != nil {
		return d.answer(r)
	}
	return nil
}

func (d *drains) last() *electorpb.DrainResponse { return d.got[len(d.got)-1] }

func TestAnOperatorDrainsANodeAndHasItServeAgain(t *testing.T) {
	withCrew(t, 10, func(c crew) {
		t := c.t
		led := c.nodes[0].host.Progress().Led
		require.NotZero(t, led)
		d := &drains{ctx: t.Context()}
		require.NoError(t, c.nodes[0].Drain(&electorpb.DrainRequest{Incarnation: c.nodes[0].host.Incarnation()}, d))
		require.Len(t, d.got, 1, "it has taken less than a second")
		assert.NotNil(t, d.last().GetEnded())
		assert.Equal(t, electorpb.NodeState_NODE_STATE_DRAINED, d.last().GetProgress().GetState())
		assert.EqualValues(t, led, d.last().GetProgress().GetMoved())
		assert.Equal(t, rpc.Drained, c.nodes[0].host.Progress().Standing.State)

		_, err := c.nodes[0].Undrain(t.Context(), &electorpb.UndrainRequest{Incarnation: c.nodes[0].host.Incarnation()})
		require.NoError(t, err)
		assert.Equal(t, rpc.Serving, c.nodes[0].host.Progress().Standing.State)
	})
}

func TestADrainSaysThatItsNodeIsProtected(t *testing.T) {
	withCrew(t, 10, func(c crew) {
		t, s := c.t, c.nodes[0]
		_, err := s.Protect(t.Context(), &electorpb.ProtectRequest{Incarnation: s.host.Incarnation(), On: true})
		require.NoError(t, err)
		d := &drains{ctx: t.Context()}
		require.NoError(t, s.Drain(&electorpb.DrainRequest{WaitNanos: int64(time.Hour)}, d))
		assert.True(t, d.last().GetEnded().GetProtected())
		assert.False(t, d.last().GetEnded().GetLate())
		assert.True(t, d.last().GetProgress().GetProtected())
		_, err = s.Protect(t.Context(), new(electorpb.ProtectRequest))
		require.NoError(t, err)
		require.NoError(t, s.Drain(new(electorpb.DrainRequest), d))
		assert.False(t, d.last().GetEnded().GetProtected())
		assert.False(t, d.last().GetProgress().GetProtected())
	})
}

// Progress is told once a second, and in the end what is left.
func TestADrainThatDoesNotEndTellsWhatIsLeft(t *testing.T) {
	withCrew(t, 5, func(c crew) {
		t := c.t
		for _, s := range c.nodes[1:] {
			require.NoError(t, s.Drain(new(electorpb.DrainRequest), &drains{ctx: t.Context()}))
		}
		d := &drains{ctx: t.Context()}
		began := time.Now()
		require.NoError(t, c.nodes[0].Drain(new(electorpb.DrainRequest), d))
		took := time.Since(began)
		assert.Len(t, d.got, int(took/time.Second)+1)
		require.Greater(t, len(d.got), 1)
		assert.Nil(t, d.got[0].GetEnded())
		assert.Equal(t, electorpb.NodeState_NODE_STATE_DRAINING, d.got[0].GetProgress().GetState())
		assert.EqualValues(t, 5, d.got[0].GetProgress().GetLed())
		end := d.last()
		assert.True(t, end.GetProgress().GetHopeless())
		assert.False(t, end.GetEnded().GetLate())
		require.Len(t, end.GetEnded().GetLeft(), 5)
		assert.Equal(t, electorpb.Stuck_STUCK_LEAVING, end.GetEnded().GetLeft()[0].GetWhy())
		assert.NotEmpty(t, end.GetEnded().GetLeft()[0].GetGroup())
		assert.EqualValues(t, 3, end.GetEnded().GetLeft()[0].GetTries())

		_, err := c.nodes[0].Undrain(t.Context(), new(electorpb.UndrainRequest))
		require.NoError(t, err)
		d = &drains{ctx: t.Context()}
		require.NoError(t, c.nodes[0].Drain(&electorpb.DrainRequest{WaitNanos: int64(10 * time.Millisecond)}, d))
		assert.True(t, d.last().GetEnded().GetLate())
		assert.Len(t, d.last().GetEnded().GetLeft(), 5)
	})
}

func TestTheEndOfACallDoesNotEndTheDrain(t *testing.T) {
	withCrew(t, 5, func(c crew) {
		t := c.t
		for _, s := range c.nodes[1:] {
			require.NoError(t, s.Drain(new(electorpb.DrainRequest), &drains{ctx: t.Context()}))
		}
		ctx, leave := context.WithCancel(t.Context())
		d := &drains{ctx: ctx, answer: func(*electorpb.DrainResponse) error { leave(); return assert.AnError }}
		assert.Equal(t, codes.Canceled, status.Code(c.nodes[0].Drain(new(electorpb.DrainRequest), d)))
		assert.Len(t, d.got, 1)
		_, err := c.nodes[1].Undrain(t.Context(), new(electorpb.UndrainRequest))
		require.NoError(t, err)
		<-time.After(10 * time.Second)
		assert.Equal(t, rpc.Drained, c.nodes[0].host.Progress().Standing.State)
	})
}

// Voters that are there, and have not caught up yet, are waited for if a time to wait is given.
func TestADrainWithTimeWaitsForVoters(t *testing.T) {
	withCrew(t, 5, func(c crew) {
		t := c.t
		for _, s := range c.nodes[1:] {
			require.NoError(t, s.host.Drain(t.Context()))
			require.NoError(t, s.host.Serve())
		}
		<-time.After(time.Second)
		c.write(0)
		d := &drains{ctx: t.Context()}
		require.NoError(t, c.nodes[0].Drain(new(electorpb.DrainRequest), d))
		assert.Equal(t, electorpb.NodeState_NODE_STATE_DRAINING, d.last().GetProgress().GetState())
		time.AfterFunc(10*time.Second, func() { c.write(1); c.write(2) })
		d = &drains{ctx: t.Context()}
		require.NoError(t, c.nodes[0].Drain(&electorpb.DrainRequest{WaitNanos: int64(time.Hour)}, d))
		assert.Equal(t, electorpb.NodeState_NODE_STATE_DRAINED, d.last().GetProgress().GetState())
		assert.Greater(t, len(d.got), 10)
	})
}

// Nobody is caught up, so handovers take long.
func TestADrainHandsOverAsManyGroupsAtATimeAsIsAsked(t *testing.T) {
	withCrew(t, 30, func(c crew) {
		t, first := c.t, c.nodes[0]
		require.Greater(t, first.host.Progress().Led, 5)
		c.write(0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- first.Drain(&electorpb.DrainRequest{WaitNanos: int64(time.Hour), InFlight: 3}, &drains{ctx: ctx})
		}()
		<-time.After(elector.DefaultTiming().Heartbeat / 2)
		assert.Equal(t, 3, first.host.Progress().Moving)
		cancel()
		assert.Equal(t, codes.Canceled, status.Code(<-ended))
		assert.NoError(t, first.Drain(&electorpb.DrainRequest{InFlight: math.MaxInt32}, &drains{ctx: t.Context()}))
	})
}

// An operator whose order is refused does not expect that the node is drained after its next start.
func TestADrainThatIsRefusedChangesNothing(t *testing.T) {
	s := alone(t, new(memberstate.MemStore), false)
	err := s.Drain(&electorpb.DrainRequest{InFlight: math.MaxInt32 + 1, Keep: true}, &drains{ctx: t.Context()})
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	assert.False(t, s.host.Progress().Kept)
	assert.Equal(t, rpc.Serving, s.host.Progress().Standing.State)
}

func TestADrainEndsWhenTheNodeIsToServe(t *testing.T) {
	withCrew(t, 5, func(c crew) {
		t := c.t
		for _, s := range c.nodes[1:] {
			require.NoError(t, s.Drain(new(electorpb.DrainRequest), &drains{ctx: t.Context()}))
		}
		time.AfterFunc(100*time.Millisecond, func() {
			_, err := c.nodes[0].Undrain(t.Context(), new(electorpb.UndrainRequest))
			assert.NoError(t, err)
		})
		d := &drains{ctx: t.Context()}
		require.NoError(t, c.nodes[0].Drain(new(electorpb.DrainRequest), d))
		assert.Equal(t, electorpb.NodeState_NODE_STATE_UNSPECIFIED, d.last().GetProgress().GetState())
		assert.NotNil(t, d.last().GetEnded())
	})
}

func TestANodeWithoutGroupsTakesNoOrders(t *testing.T) {
	s := serviceOf(t)
	assert.Equal(t, codes.Unavailable, status.Code(s.Drain(new(electorpb.DrainRequest), &drains{ctx: t.Context()})))
	assert.Equal(t, codes.Unavailable, status.Code(s.Drain(&electorpb.DrainRequest{Keep: true}, &drains{ctx: t.Context()})))
	_, err := s.Undrain(t.Context(), new(electorpb.UndrainRequest))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	_, err = s.Protect(t.Context(), new(electorpb.ProtectRequest))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	_, err = s.Balance(t.Context(), &electorpb.BalanceRequest{EveryNanos: new(int64)})
	assert.Equal(t, codes.Unavailable, status.Code(err))
}

// Only its engine knows whether its data is complete.
func TestANodeThatStartsIsNotMadeToServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0"), Hold: true})
		require.NoError(t, err)
		s := &service{host: host}
		_, err = s.Undrain(t.Context(), new(electorpb.UndrainRequest))
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		assert.ErrorContains(t, err, `node "n0" does not drain, it is starting`)
		assert.Equal(t, rpc.Starting, host.Progress().Standing.State)
	})
}

// An operator who repairs a machine starts it several times. Its next processes have the same store.
func TestANodeIsKeptDrainedUntilItIsUndrained(t *testing.T) {
	withCrew(t, 5, func(c crew) {
		t, s := c.t, c.nodes[0]
		d := &drains{ctx: t.Context()}
		require.NoError(t, s.Drain(new(electorpb.DrainRequest), d))
		assert.False(t, d.last().GetProgress().GetKept(), "only if it is ordered")
		require.NoError(t, s.Drain(&electorpb.DrainRequest{Keep: true}, d))
		assert.True(t, d.last().GetProgress().GetKept())
		assert.Equal(t, electorpb.NodeState_NODE_STATE_DRAINED, d.last().GetProgress().GetState())
		require.NoError(t, s.Drain(new(electorpb.DrainRequest), d))
		assert.True(t, d.last().GetProgress().GetKept(), "another order to drain does not end it")
		answer, err := s.Nodes(t.Context(), new(electorpb.NodesRequest))
		require.NoError(t, err)
		assert.True(t, decodeNodes(answer).Progress.Kept)
		_, err = s.Undrain(t.Context(), new(electorpb.UndrainRequest))
		require.NoError(t, err)
		assert.False(t, s.host.Progress().Kept)
		assert.Equal(t, rpc.Serving, s.host.Progress().Standing.State)
	})
}

// alone is a node of a group whose other voters do not answer.
func alone(t *testing.T, store memberstate.Store, hold bool) *service {
	t.Helper()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: store, Transport: rpc.NewNetwork(1).Join("n0"), Hold: hold})
	require.NoError(t, err)
	el, err := host.Join(elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	require.NoError(t, err)
	require.NoError(t, el.Start())
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = host.Close(ended) // its store may have failed
	})
	return &service{host: host}
}

// Its engine has it serve later. That it is kept drained is over at once.
func TestANodeThatStartsIsKeptDrainedNoMore(t *testing.T) {
	store := new(memberstate.MemStore)
	require.NoError(t, memberstate.KeepDrained(store, true))
	s := alone(t, store, true)
	assert.True(t, s.host.Progress().Kept)
	_, err := s.Undrain(t.Context(), new(electorpb.UndrainRequest))
	require.NoError(t, err)
	assert.Equal(t, rpc.Starting, s.host.Progress().Standing.State)
	assert.False(t, s.host.Progress().Kept)
	kept, err := memberstate.IsKeptDrained(store)
	require.NoError(t, err)
	assert.False(t, kept)
}

// A store that fails keeps nothing, so the operator must not believe it.
func TestANodeThatCannotBeKeptDrainedDoesNotDrain(t *testing.T) {
	store := new(memberstate.MemStore)
	s := alone(t, store, false)
	store.Break(assert.AnError)
	d := &drains{ctx: t.Context()}
	err := s.Drain(&electorpb.DrainRequest{Keep: true}, d)
	require.ErrorContains(t, err, assert.AnError.Error())
	require.ErrorContains(t, err, `saving whether node "n0" stays drained over restarts`)
	assert.Empty(t, d.got)
	assert.Equal(t, rpc.Serving, s.host.Progress().Standing.State)
}

// Every command names the process that it is meant for, and another one does nothing.
func TestACommandForAnotherProcessIsRefused(t *testing.T) {
	withCrew(t, 1, func(c crew) {
		t := c.t
		s := c.nodes[0]
		for i := range c.nodes {
			if c.nodes[i].host.Electors()[0].Status().Role == memberstate.Leader {
				s = c.nodes[i]
			}
		}
		ctx, other := t.Context(), s.host.Incarnation()+1
		electable := false
		calls := map[string]func() error{
			"drain": func() error {
				return s.Drain(&electorpb.DrainRequest{Incarnation: other, Keep: true}, &drains{ctx: ctx})
			},
			"undrain": func() error { _, err := s.Undrain(ctx, &electorpb.UndrainRequest{Incarnation: other}); return err },
			"protect": func() error { _, err := s.Protect(ctx, &electorpb.ProtectRequest{Incarnation: other}); return err },
			"balance": func() error { _, err := s.Balance(ctx, &electorpb.BalanceRequest{Incarnation: other}); return err },
			"settings": func() error {
				_, err := s.Settings(ctx, &electorpb.SettingsRequest{Incarnation: other, Electable: &electable})
				return err
			},
			"transfer": func() error { _, err := s.Transfer(ctx, &electorpb.TransferRequest{Incarnation: other}); return err },
			"resign":   func() error { _, err := s.Resign(ctx, &electorpb.ResignRequest{Incarnation: other}); return err },
		}
		before := s.host.Electors()[0].Status()
		for name, call := range calls {
			err := (&Client{address: "n0:7000"}).explain(call())
			require.ErrorIs(t, err, ErrOtherProcess, name)
			assert.NotErrorIs(t, err, elector.ErrNotLeader)
			assert.Equal(t, fmt.Sprintf("n0:7000: node %q is process %d now, not %d, because it has been started again: the command is meant for another process",
				s.host.Self(), s.host.Incarnation(), other), err.Error())
		}
		assert.Equal(t, before, s.host.Electors()[0].Status())
		assert.Equal(t, rpc.Serving, s.host.Progress().Standing.State)
		assert.False(t, s.host.Progress().Kept)
		r, err := s.host.Electors()[0].Report(ctx)
		require.NoError(t, err)
		assert.False(t, r.LastChoice)

		_, err = s.Resign(ctx, &electorpb.ResignRequest{Incarnation: other - 1})
		require.NoError(t, err)
	})
	s := serviceOf(t)
	require.ErrorIs(t, s.meant(7), ErrOtherProcess)
	assert.EqualError(t, s.meant(7), `node "n0" takes part in no group yet, so it is not process 7: the command is meant for another process`)
	assert.NoError(t, s.meant(0))
}

func TestANodeShowsItselfAndTheOthers(t *testing.T) {
	withCrew(t, 10, func(c crew) {
		t := c.t
		require.NoError(t, c.nodes[1].Drain(new(electorpb.DrainRequest), &drains{ctx: t.Context()}))
		<-time.After(time.Second)
		answer, err := c.nodes[0].Nodes(t.Context(), new(electorpb.NodesRequest))
		require.NoError(t, err)
		now := decodeNodes(answer)
		assert.Equal(t, "n0", now.Self)
		assert.Equal(t, c.nodes[0].host.Incarnation(), now.Incarnation)
		assert.Equal(t, 10, now.Groups)
		assert.Equal(t, c.nodes[0].host.Progress().Led, now.Progress.Led)
		require.Len(t, now.Peers, 2)
		assert.Equal(t, "at n1", now.Peers[0].Address)
		assert.Equal(t, rpc.Drained, now.Peers[0].Standing.State)
		assert.Empty(t, answer.GetProgress().GetStuck(), "only what there is")
		assert.Equal(t, rpc.Serving, now.Peers[1].Standing.State)
		assert.Equal(t, now.Progress.Led, now.Peers[1].Lead)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = c.nodes[0].Nodes(ended, new(electorpb.NodesRequest))
		if err != nil { // the loop may have been quicker
			assert.Equal(t, codes.Canceled, status.Code(err))
		}
	})
}

// The answers of a node that a client makes an error of.
func TestTheEndOfADrainIsAnError(t *testing.T) {
	c := &Client{address: "n0:7000"}
	end := func(state rpc.NodeState) error {
		return c.drainEnded(elector.Progress{Standing: rpc.Standing{State: state}}, new(electorpb.DrainEnd))
	}
	require.NoError(t, end(rpc.Drained))
	require.ErrorIs(t, end(rpc.Serving), elector.ErrServing)
	assert.ErrorContains(t, end(rpc.Serving), "n0:7000: ")
	assert.ErrorAs(t, end(rpc.Draining), new(*StuckError))
	assert.ErrorAs(t, end(rpc.Starting), new(*StuckError), "of a state that this version does not know")
	assert.EqualError(t, c.explain(status.Error(codes.Unimplemented, "unknown method")), "n0:7000: the node runs a version of hustings that does not know this call")
	assert.NoError(t, c.explain(nil))
}

// It knows neither weights nor capacities.
func TestEachGroupOfAnOlderNodeWeighsOne(t *testing.T) {
	p := decodeProgress(&electorpb.Progress{Led: 50})
	assert.Equal(t, 50, p.Weight)
	assert.Equal(t, protocol.UsualCapacity, p.Capacity)
}

// Every field is set to a value of its own, and comes out unchanged.
func TestEveryFieldOfNodesSurvivesTheWire(t *testing.T) {
	p := elector.Progress{Standing: rpc.Standing{State: rpc.Draining}, Led: 36, Waiting: 3, Moving: 4, Moved: 5, Hopeless: true, Protected: true, Kept: true, Weight: 40, Capacity: 50}
	for i := range p.Stuck {
		p.Stuck[i] = i + 1
	}
	n := Nodes{Self: "n0", Incarnation: 7, Groups: 8, Progress: p, Peers: []Peer{{
		protocol.Peer{
			ID: "n1", Groups: 9, Standing: rpc.Standing{State: rpc.Starting}, Known: true, Incarnation: 10, Heard: true, Silence: 11, Lost: true, Follow: 12, Lead: 13,
			Led: 14, Weight: 15, Capacity: 16,
		}, "n1:7000",
	}, {Peer: protocol.Peer{ID: "n2"}}, {Peer: protocol.Peer{ID: "n3", Known: true, Heard: true}}}}
	assert.Equal(t, n, decodeNodes(encodeNodes(&n)))
	for i, on := range states {
		assert.EqualValues(t, i, decodeState(on))
	}
	assert.False(t, rpc.NodeState(len(states)).Valid(), "there are no more")
	assert.Equal(t, rpc.Starting, decodeState(99))
	assert.Len(t, stucks, protocol.Stucks)
	for i, on := range stucks {
		assert.EqualValues(t, i, decodeStuck(on))
	}
	assert.Equal(t, protocol.StuckBusy, decodeStuck(99))
	twice := &electorpb.Progress{Stuck: []*electorpb.StuckCount{{Why: 98, Groups: 3}, {Why: 99, Groups: 4}}}
	assert.Equal(t, 7, decodeProgress(twice).Stuck[protocol.StuckBusy], "two reasons that this version does not know")
	assert.Equal(t, protocol.StuckBusy, decodeStuck(electorpb.Stuck_STUCK_UNSPECIFIED))
}
