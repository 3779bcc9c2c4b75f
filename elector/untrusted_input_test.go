// Input that cannot be trusted: messages from strangers, malformed messages, and a store or a
// ledger that cannot be right. The member answers, counts or refuses it, and does not panic.

package elector_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// fakePeer is a node whose messages the test writes. It collects the answers.
type fakePeer struct {
	transport rpc.Transport
	stop      func()
	answers   chan rpc.Message
}

func newFakePeer(t *testing.T, network *rpc.Network, id string) *fakePeer {
	t.Helper()
	o := &fakePeer{transport: network.Join(id), answers: make(chan rpc.Message, 100)}
	stop, err := o.transport.Serve(o)
	require.NoError(t, err)
	o.stop = stop
	return o
}

func (o *fakePeer) Receive(batch []rpc.Message) {
	for _, m := range batch {
		if m.Result != 0 && len(o.answers) < cap(o.answers) {
			o.answers <- m
		}
	}
}

func (o *fakePeer) PeerLost(string) {}

// send sends one message to n0.
func (o *fakePeer) send(m rpc.Message) { o.transport.Send("n0", []rpc.Message{m}) }

// withFakePeer plays a test against n0, one of three members of which the others do not run. A
// fakePeer has this id, which may be that of a member; good is a valid heartbeat of its.
func withFakePeer(t *testing.T, id string, play func(o *fakePeer, el *elector.Elector, good rpc.Message)) {
	t.Helper()
	withFakePeerAnd(t, id, goodConfig(), play)
}

// withFakePeerAnd is withFakePeer with another configuration of n0.
func withFakePeerAnd(t *testing.T, id string, c config, play func(o *fakePeer, el *elector.Elector, good rpc.Message)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		o := newFakePeer(t, network, id)
		defer o.stop()
		c.Transport = network.Join("n0")
		el := startElector(t, c)
		defer func() { assert.NoError(t, el.Stop(context.Background())) }()
		play(o, el, heartbeat(t, id, "n0", 1))
	})
}

func TestMessagesThatAreDroppedAreCounted(t *testing.T) {
	bad := []struct {
		why   elector.Drop
		spoil func(*rpc.Message)
	}{
		{protocol.DropUnknownGroup, func(m *rpc.Message) { m.Group = "other" }},
		{protocol.DropMisaddressed, func(m *rpc.Message) { m.To = "n2" }},
		{protocol.DropFromSelf, func(m *rpc.Message) { m.From = "n0" }},
		{protocol.DropOtherVoters, func(m *rpc.Message) { m.Voters++ }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.From = "" }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.Kind = 0 }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.Kind = 99 }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.Mark = 99 }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.Result = 99 }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.Result = rpc.Accept }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.Lease = -1 }},
		{protocol.DropMalformed, func(m *rpc.Message) { m.RoundTrip = -1 }},
		{protocol.DropImpossibleTerm, func(m *rpc.Message) { m.Term = math.MaxUint64 }},
		{protocol.DropStaleAnswer, func(m *rpc.Message) { m.Kind, m.Result = rpc.HeartbeatResponse, rpc.Success }},
	}
	for _, b := range bad {
		t.Run(b.why.String(), func(t *testing.T) {
			withFakePeer(t, "n1", func(o *fakePeer, el *elector.Elector, m rpc.Message) {
				b.spoil(&m)
				before := el.Host().Dropped(b.why)
				o.send(m)
				synctest.Wait()
				assert.Equal(t, before+1, el.Host().Dropped(b.why))
				assert.Empty(t, el.Status().Leader)
			})
		})
	}
}

func TestAStrangerIsAnsweredThatItIsUnknown(t *testing.T) {
	withFakePeer(t, "nx", func(o *fakePeer, el *elector.Elector, m rpc.Message) {
		o.send(m)
		assert.Equal(t, rpc.UnknownMember, (<-o.answers).Result)
		m.Kind = rpc.VoteRequest
		o.send(m)
		assert.Equal(t, rpc.RejectUnknownLeader, (<-o.answers).Result)
		assert.Zero(t, el.Status().Term)
	})
}

// A million messages cannot make a host grow without bound, or stop.
func TestAFloodIsBounded(t *testing.T) {
	withFakePeer(t, "n1", func(_ *fakePeer, el *elector.Elector, m rpc.Message) {
		flood := make([]rpc.Message, 1<<17)
		for i := range flood {
			flood[i] = m
		}
		el.Host().Receive(flood)
		synctest.Wait()
		assert.Positive(t, el.Host().Dropped(protocol.DropQueueFull))
		assert.Equal(t, "n1", el.Status().Leader, "the messages that were not dropped were processed")
	})
}

// singleMember is the only member of its group, with this store and this LedgerEnd.
func singleMember(t *testing.T, store memberstate.Store, end func(memberstate.Term) memberstate.Position) *elector.Elector {
	t.Helper()
	c := singleConfig()
	c.Store, c.LedgerEnd = store, end
	return newElector(t, c)
}

// endAt is the LedgerEnd of a ledger that always ends there.
func endAt(term memberstate.Term, index uint64) func(memberstate.Term) memberstate.Position {
	return func(memberstate.Term) memberstate.Position { return memberstate.Position{Term: term, Index: index} }
}

func TestAStoreOlderThanTheLedgerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memberstate.MemStore)
		el := singleMember(t, store, elector.EmptyLedger)
		require.NoError(t, el.Start())
		<-time.After(time.Second)
		require.NoError(t, el.Stop(context.Background()))
		require.ErrorIs(t, singleMember(t, store, endAt(9, 1)).Start(), elector.ErrStoreBehindLedger)
	})
}

func TestANewStoreBesideALedgerBeginsAtItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		el := singleMember(t, new(memberstate.MemStore), endAt(9, 1))
		require.NoError(t, el.Start())
		<-time.After(time.Second)
		assert.EqualValues(t, 10, el.Status().Term)
		require.NoError(t, el.Stop(context.Background()))
	})
}

func TestAStoreOfOtherVotersIsRefused(t *testing.T) {
	store := new(memberstate.MemStore)
	require.NoError(t, store.Save([]memberstate.Record{{Group: "g", Term: 3, Voters: 1}}))
	require.ErrorIs(t, singleMember(t, store, elector.EmptyLedger).Start(), elector.ErrOtherVoters)
}

// Fault 6: DLedger trusts its log to report the right end.
func TestFault06ALedgerThatMovesBackStopsTheMember(t *testing.T) {
	var reads atomic.Uint64
	ledger := func(memberstate.Term) memberstate.Position {
		return memberstate.Position{Term: 1, Index: 10 - min(reads.Add(1), 5)}
	}
	assertLedgerError(t, ledger, "moved backwards")
}

func TestFault06ALedgerOfATermNeverHeardStopsTheMember(t *testing.T) {
	var reads atomic.Uint64
	ledger := func(memberstate.Term) memberstate.Position {
		return memberstate.Position{Term: memberstate.Term(reads.Add(1)), Index: 10}
	}
	assertLedgerError(t, ledger, "never announced")
}

func assertLedgerError(t *testing.T, ledger func(memberstate.Term) memberstate.Position, problem string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		err := singleMember(t, new(memberstate.MemStore), ledger).Run(t.Context())
		var bad *elector.LedgerError
		require.ErrorAs(t, err, &bad)
		assert.Contains(t, err.Error(), problem)
	})
}

func TestStaleAndForeignAppendsAreRefused(t *testing.T) {
	withFakePeer(t, "n1", func(_ *fakePeer, el *elector.Elector, _ rpc.Message) {
		require.NoError(t, el.Heard(5, "n1"))
		assert.Equal(t, "n1", el.Status().Leader)
		assert.EqualValues(t, 5, el.Status().Term)
		require.NoError(t, el.Heard(5, "n1"))
		require.ErrorIs(t, el.Heard(4, "n1"), elector.ErrStaleTerm)
		require.ErrorIs(t, el.Heard(5, "n2"), elector.ErrOtherLeader)
		err := el.Heard(6, "nx")
		require.ErrorIs(t, err, elector.ErrOtherLeader)
		require.ErrorContains(t, err, `an append of term 6 is by "nx", which is no voter of group "g"`)
		err = el.Heard(6, "n0")
		require.ErrorIs(t, err, elector.ErrOtherLeader)
		require.ErrorContains(t, err, `Heard is for the appends of others: "n0" is this member itself`)
		require.ErrorIs(t, el.Heard(math.MaxUint64, "n1"), elector.ErrStaleTerm)
		require.NoError(t, el.Heard(7, "n2"))
		assert.Equal(t, "n2", el.Status().Leader)
	})
}

// The caller of the first append of a term waits for one answer.
func TestAnAppendOfALaterTermIsHeardOnce(t *testing.T) {
	withFakePeer(t, "n1", func(_ *fakePeer, el *elector.Elector, _ rpc.Message) {
		for term := range memberstate.Term(3) {
			<-time.After(elector.DefaultTiming().Heartbeat)
			require.NoError(t, el.Heard(10+term, "n1"))
			synctest.Wait()
			assert.Equal(t, "n1", el.Status().Leader)
		}
	})
}

func TestHeardCountsAsAHeartbeat(t *testing.T) {
	withFakePeer(t, "n1", func(_ *fakePeer, el *elector.Elector, _ rpc.Message) {
		for range 100 {
			require.NoError(t, el.Heard(1, "n1"))
			<-time.After(50 * time.Millisecond)
			synctest.Wait()
			require.Equal(t, "n1", el.Status().Leader)
		}
		<-time.After(time.Second)
		assert.Empty(t, el.Status().Leader)
	})
}

func TestDroppedIsZeroForAnUnknownReason(t *testing.T) {
	host := elector.IsolatedHost(t, new(memberstate.MemStore))
	assert.Zero(t, host.Dropped(protocol.DropReasons))
	assert.Zero(t, host.Dropped(255))
}
