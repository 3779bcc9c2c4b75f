// Two followers notice the loss of their leader at different moments (D13), and elect one of themselves without
// waiting for the lost one's vote.

package protocol

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// remaining is a follower whose leader has died.
type remaining struct {
	rules   *Rules
	machine Machine
	asked   map[uint32]time.Duration // when it asked, by round
}

// bereaved are the two followers of a leader of three that has died, and what will happen to them.
type bereaved struct {
	*testing.T
	*rand.Rand
	now     time.Duration
	members map[memberstate.Seat]*remaining
	due     []coming
}

// coming is an input that comes to a member at a time.
type coming struct {
	at time.Duration
	to memberstate.Seat
	in Input
}

const lostLeader memberstate.Seat = 3

// newBereaved lets each of the two notice the loss at some moment of the first 15 ms. They know how long round
// trips were with the leader, which are not those between them.
func newBereaved(t *testing.T, seed uint64) *bereaved {
	t.Helper()
	b := &bereaved{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), members: map[memberstate.Seat]*remaining{}}
	all := memberstate.SetOf(1, 2, lostLeader)
	for seat := range memberstate.SetOf(1, 2).Seats() {
		r := &Rules{Self: seat, Voters: all, All: all, Timing: DefaultTiming(), PreVote: true, Ranks: true}
		b.members[seat] = &remaining{rules: r, machine: NewMachine(r, memberstate.HardState{}), asked: map[uint32]time.Duration{}}
		b.give(seat, Input{Kind: Start})
		for round := range uint32(2) { // the first one raises the term
			b.give(seat, Input{Kind: Receive, Message: Message{From: lostLeader, Leader: lostLeader, Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1, Round: 1 + round}}})
		}
		require.Equal(t, lostLeader, b.members[seat].machine.Leader)
		b.members[seat].machine.roundTrip = 1000 + b.Uint32N(9000)
	}
	b.due = nil
	for seat := range memberstate.SetOf(1, 2).Seats() {
		noticed := time.Duration(b.Int64N(int64(15 * time.Millisecond)))
		b.due = append(b.due, coming{at: noticed, to: seat, in: Input{Kind: PeerLost, Seat: lostLeader}})
	}
	return b
}

// give gives an input to a member, and notes what follows: a message takes half a millisecond.
func (b *bereaved) give(to memberstate.Seat, in Input) {
	b.Helper()
	s, out := b.members[to], Output{}
	if in.Kind == Receive && in.Message.Kind == rpc.VoteResponse {
		in.RoundTrip = b.now - s.asked[in.Message.Round]
	}
	for s.machine.Step(s.rules, &in, &out); out.NeedLedger; s.machine.Step(s.rules, &in, &out) {
		in.HasLedger, in.LedgerTerm = true, out.LedgerTerm
	}
	require.NoError(b, out.Err)
	if out.To != 0 {
		if _, again := s.asked[out.Send.Round]; !again {
			s.asked[out.Send.Round] = b.now
		}
		b.send(to, 3-to, out.Send)
	}
	if out.Replied {
		b.send(to, in.Message.From, out.Reply)
	}
	if a := out.Alarm; a.Number != 0 {
		at := b.now + a.Min + time.Duration(b.Int64N(int64(a.Max-a.Min)+1))
		b.due = append(b.due, coming{at: at, to: to, in: Input{Kind: Ring, Number: a.Number}})
	}
}

func (b *bereaved) send(from, to memberstate.Seat, m Message) {
	if b.members[to] != nil {
		m.From = from
		b.due = append(b.due, coming{at: b.now + 500*time.Microsecond, to: to, in: Input{Kind: Receive, Message: m}})
	}
}

// elects plays until one of the two leads.
func (b *bereaved) elects() time.Duration {
	b.Helper()
	for range 1000 {
		next := 0
		for i := range b.due {
			if b.due[i].at < b.due[next].at {
				next = i
			}
		}
		what := b.due[next]
		b.due = slices.Delete(b.due, next, next+1)
		b.now = what.at
		b.give(what.to, what.in)
		if b.members[what.to].machine.Role == memberstate.Leader {
			return b.now
		}
	}
	b.Fatal("nobody is elected")
	return 0
}

// The moments at which the two notice it do not matter. If both won their pre-votes, the vote would be split, and both
// would wait until their rounds time out, which is after 100 ms.
func TestALossThatIsNoticedAtDifferentMomentsSplitsNoVote(t *testing.T) {
	longest := time.Duration(0)
	for seed := range uint64(4000) {
		longest = max(longest, newBereaved(t, seed).elects())
	}
	assert.Less(t, longest, 60*time.Millisecond)
}
