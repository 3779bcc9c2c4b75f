// What must hold after every step of every test: a machine against what it was,
// its disk against what it says, and the members against each other.

package protocol

import (
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// invariants watches a group from outside and remembers what may not change.
type invariants struct {
	t       tester
	leaders map[memberstate.Term]tenure
	votes   map[ballot]memberstate.Seat
	steps   int
}

// tenure is who led a term: one incarnation of one member, ever.
type tenure struct {
	seat        memberstate.Seat
	incarnation int
}

// ballot is the one vote that a member has in a term.
type ballot struct {
	voter memberstate.Seat
	term  memberstate.Term
}

func newInvariants(t tester) *invariants {
	t.Helper()
	return &invariants{t: t, leaders: map[memberstate.Term]tenure{}, votes: map[ballot]memberstate.Seat{}}
}

// stepped checks a step that has been taken but not yet taken effect.
func (i *invariants) stepped(a *actor, before *Machine, x *Execution) {
	i.t.Helper()
	i.steps++
	m, out := &a.machine, &x.Output
	i.againstBefore(a, before, x)
	i.roleHolds(a)
	i.inAMood(a, before, x)
	if m.HardState != before.HardState && !out.Save {
		i.fail(a, "the hard state changed and is not saved")
	}
	if m.Vote != memberstate.Nobody {
		i.vote(a)
	}
}

// published checks what takes effect. An office that a crash prevents, because
// the vote for it was not saved yet, never was one.
func (i *invariants) published(a *actor) {
	i.t.Helper()
	if led, ok := i.leaders[a.machine.Term]; a.machine.Role == memberstate.Leader && (!ok || led != tenure{a.rules.Self, a.incarnation}) {
		i.elected(a)
	}
}

// againstBefore compares a machine with its predecessor.
func (i *invariants) againstBefore(a *actor, before *Machine, x *Execution) {
	m, out := &a.machine, &x.Output
	switch {
	case m.Term < before.Term:
		i.fail(a, "its term fell from %d", before.Term)
	case m.Term == before.Term && before.Vote != memberstate.Nobody && m.Vote != before.Vote:
		i.fail(a, "it changed its vote from %d to %d within a term", before.Vote, m.Vote)
	case m.Term == before.Term && before.Spent && !m.Spent:
		i.fail(a, "a spent term can be campaigned in again")
	case out.Lost != (before.Role == memberstate.Leader && (m.Role != memberstate.Leader || m.Term != before.Term)):
		i.fail(a, "Lost is %t from %v to %v", out.Lost, before.Role, m.Role)
	case !out.Changed && (m.Role != before.Role || m.Term != before.Term || m.Leader != before.Leader || m.Vote != before.Vote):
		i.fail(a, "it changed and does not say so")
	case x.Input.Kind == Receive && x.Input.Message.Mark == rpc.PreVote && x.Input.Message.Kind == rpc.VoteRequest && *m != *before:
		i.fail(a, "a pre-vote request changed it")
	case x.Input.Kind == Ring && x.Input.Number != before.alarm && *m != *before:
		i.fail(a, "a stale alarm changed it")
	case m.alarm != before.alarm && out.Alarm.Number != m.alarm:
		i.fail(a, "it waits for alarm %d, which was not set", m.alarm)
	case x.Input.Kind == Ring && x.Input.Number == before.alarm && out.Alarm.Number == 0 && m.Role != memberstate.Observer:
		i.fail(a, "its alarm rang and no other is set: it is stuck")
	}
}

// inAMood checks that a steady machine in one of its moods would have done the same.
func (i *invariants) inAMood(a *actor, before *Machine, x *Execution) {
	told := func(m Machine, out *Output) any {
		return [...]any{m.Canonical(&a.rules).Steady(), out.NeedLedger, out.Save, out.Lost, out.Replied, out.Reply, out.To, out.Send}
	}
	did := told(a.machine, &x.Output)
	for _, mood := range before.Steady().Moods() {
		in, out := x.Input, Output{}
		mood.Step(&a.rules, &in, &out)
		if told(mood, &out) == did {
			return
		}
	}
	i.fail(a, "it does what it would do in no mood")
}

// roleHolds checks that a machine's parts agree.
func (i *invariants) roleHolds(a *actor) {
	m, self := &a.machine, a.rules.Self
	observer := !a.rules.Voters.Has(self)
	switch {
	case observer != (m.Role == memberstate.Observer):
		i.fail(a, "an observer is a voter, or the reverse")
	case observer && m.Vote != memberstate.Nobody:
		i.fail(a, "an observer voted")
	case m.Role == memberstate.Follower && (m.Leader == memberstate.Nobody || m.Leader == self):
		i.fail(a, "a follower without a leader")
	case m.Role == memberstate.Candidate && m.Leader != memberstate.Nobody:
		i.fail(a, "a candidate with a leader")
	case m.Role == memberstate.Leader && (m.Vote != self || m.Leader != self):
		i.fail(a, "a leader that did not vote for itself")
	case m.alarm == 0 && m.Role != memberstate.Observer:
		i.fail(a, "no alarm was ever set")
	case m.round.asked > 0 && m.round.phase == voting && m.round.asked != m.Term:
		i.fail(a, "it asks for votes in term %d", m.round.asked)
	}
	if leader, known := i.leaders[m.Term]; m.Leader != memberstate.Nobody && m.Leader != self && (!known || leader.seat != m.Leader) {
		i.fail(a, "it follows %d, which never won term %d", m.Leader, m.Term)
	}
}

// vote checks that the members give one vote a term, over all incarnations.
func (i *invariants) vote(a *actor) {
	b := ballot{a.rules.Self, a.machine.Term}
	if given, ok := i.votes[b]; ok && given != a.machine.Vote && a.disk.Term == b.term && a.disk.Vote == given {
		i.fail(a, "it voted for %d and now for %d", given, a.machine.Vote)
	}
	i.votes[b] = a.machine.Vote
}

// elected checks that a new leader won, and alone.
func (i *invariants) elected(a *actor) {
	term := a.machine.Term
	if led, ok := i.leaders[term]; ok {
		i.fail(a, "term %d was led before, by %v", term, led)
	}
	i.leaders[term] = tenure{a.rules.Self, a.incarnation}
	var votes memberstate.Set
	for _, b := range a.stage.actors {
		if b.disk.Term == term && b.disk.Vote == a.rules.Self {
			votes = votes.With(b.rules.Self)
		} else if b.disk.Term > term && i.votes[ballot{b.rules.Self, term}] == a.rules.Self {
			votes = votes.With(b.rules.Self) // it has voted, and gone on since
		}
	}
	if (votes & a.rules.Voters).Len() < memberstate.Quorum(a.rules.Voters) {
		i.fail(a, "it leads term %d without a quorum of durable votes", term)
	}
}

// sends checks that nothing is said that is not durable.
func (i *invariants) sends(a *actor, m *Message) {
	i.t.Helper()
	if a.disk != a.machine.HardState {
		i.fail(a, "it sends %v with %+v on disk and %+v in memory", m.Kind, a.disk, a.machine.HardState)
	}
	if a.machine.Role == memberstate.Observer && (m.Kind == rpc.VoteRequest || m.Kind == rpc.VoteResponse) {
		i.fail(a, "an observer says %v", m.Kind)
	}
}

func (i *invariants) fail(a *actor, format string, args ...any) {
	i.t.Helper()
	i.t.Fatalf("%s: "+format+"\n%s", append(append([]any{a.id}, args...), a.stage)...)
}

// safe asserts that the invariants were looked at all.
func (i *invariants) safe() { require.Positive(i.t, i.steps) }
