// A step: what it may change, and what it must report.

package check

import (
	"iter"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// Breaches are what is wrong with a step, a bit for each; 0 if nothing is.
type Breaches uint16

const (
	failed = iota
	termFell
	voteChanged
	notSaved
	lossUntold
	changeUntold
	unelected
	followsNobody
	namesLeader
	observerVoted
	termRegained
	speaksWithoutVoice
	stuck
	preVoteChanges
	standsUnbidden
	breaches
)

var known = [breaches]struct {
	broken invariant.Invariant
	what   string
}{
	failed:             {invariant.LegalStep, "the machine reports an internal error"},
	termFell:           {invariant.TermsRise, "its term fell"},
	voteChanged:        {invariant.OneVote, "it changed its vote within a term"},
	notSaved:           {invariant.LegalStep, "its hard state changed but was not saved"},
	lossUntold:         {invariant.LegalStep, "it lost the leadership without reporting it, or reported a loss that did not happen"},
	changeUntold:       {invariant.LegalStep, "its state changed but it reported no change"},
	unelected:          {invariant.LegalStep, "it leads but did not vote for itself"},
	followsNobody:      {invariant.LegalStep, "it is a follower without a leader, or follows itself"},
	namesLeader:        {invariant.LegalStep, "it is a candidate but has a leader"},
	observerVoted:      {invariant.ObserverSilent, "it is a voter in the role of an observer, an observer in another role, or an observer that has voted"},
	termRegained:       {invariant.LegalStep, "it may stand again in a term in which it had given that up"},
	speaksWithoutVoice: {invariant.ObserverSilent, "it is an observer, but asks for votes or grants one"},
	stuck:              {invariant.NeverStuck, "its alarm rang and it set no other one"},
	preVoteChanges:     {invariant.LegalStep, "a pre-vote request changed its state"},
	standsUnbidden:     {invariant.LegalStep, "it asks for votes as an heir, but nobody asked it to take over"},
}

// All lists the breaches, each with the invariant that is broken.
func (b Breaches) All() iter.Seq2[invariant.Invariant, string] {
	return func(yield func(invariant.Invariant, string) bool) {
		for i := range known {
			if b>>i&1 == 1 && !yield(known[i].broken, known[i].what) {
				return
			}
		}
	}
}

// Step checks a step that has been taken, before it takes effect: the state before and after it, its
// input and its output.
func Step(r *protocol.Rules, was *memberstate.State, m *protocol.Machine, x *protocol.Step) (b Breaches) {
	out := &x.Output
	if m.State != *was { // most steps change nothing of it
		b = changed(was, &m.State, out) | holds(r, &m.State)
		if asked := &x.Input; asked.Kind == protocol.Receive && asked.Message.Kind == rpc.VoteRequest && asked.Message.Mark == rpc.PreVote {
			b |= 1 << preVoteChanges
		}
	}
	if out.Err != nil {
		b |= 1 << failed
	}
	if out.Lost != lost(was, &m.State) {
		b |= 1 << lossUntold
	}
	if out.To != 0 && out.Send.Kind == rpc.VoteRequest && out.Send.Mark == rpc.Handed && !toldToStand(r, &x.Input) {
		b |= 1 << standsUnbidden
	}
	switch {
	case m.Role == memberstate.Observer:
		if out.To != 0 && out.Send.Kind == rpc.VoteRequest || out.Replied && out.Reply.Kind == rpc.VoteResponse && out.Reply.Result == rpc.Accept {
			b |= 1 << speaksWithoutVoice
		}
	case x.Input.Kind == protocol.Ring && out.Alarm.Number == 0 && out.Dropped != protocol.DropStaleAlarm:
		b |= 1 << stuck
	}
	return b
}

// toldToStand says whether a step is about a leader's request that this member takes over. Only the
// request for votes that follows from it may have the mark Handed.
func toldToStand(r *protocol.Rules, in *protocol.Input) bool {
	q := &in.Message
	return in.Kind == protocol.Receive && q.Kind == rpc.TakeLeadership && q.Mark == rpc.Plain && q.Leader == r.Self
}

// lost says whether a member has ceased to lead the term that it led.
func lost(was, now *memberstate.State) bool {
	return was.Role == memberstate.Leader && (now.Role != memberstate.Leader || now.Term != was.Term)
}

// changed compares the states of a member before and after a step.
func changed(was, now *memberstate.State, out *protocol.Output) (b Breaches) {
	is := func(breach int, wrong bool) {
		if wrong {
			b |= 1 << breach
		}
	}
	seen := now.Role != was.Role || now.Term != was.Term || now.Leader != was.Leader || now.Vote != was.Vote
	is(termFell, now.Term < was.Term)
	is(voteChanged, now.Term == was.Term && was.Vote != memberstate.Nobody && now.Vote != was.Vote)
	is(notSaved, now.HardState != was.HardState && !out.Save)
	is(changeUntold, seen && !out.Changed)
	is(termRegained, now.Term == was.Term && was.Spent && !now.Spent)
	return b
}

// holds checks whether the parts of a state agree.
func holds(r *protocol.Rules, s *memberstate.State) (b Breaches) {
	is := func(breach int, wrong bool) {
		if wrong {
			b |= 1 << breach
		}
	}
	observes := r.Voters>>(r.Self-1)&1 == 0
	is(unelected, s.Role == memberstate.Leader && (s.Vote != r.Self || s.Leader != r.Self))
	is(followsNobody, s.Role == memberstate.Follower && (s.Leader == memberstate.Nobody || s.Leader == r.Self))
	is(namesLeader, s.Role == memberstate.Candidate && s.Leader != memberstate.Nobody)
	is(observerVoted, observes != (s.Role == memberstate.Observer) || observes && s.Vote != memberstate.Nobody)
	return b
}

// step judges a step by itself, by the clock, and by what the engine does.
func (c *Checker) step(n *Member, before *memberstate.State, x *protocol.Step) {
	c.Counts[invariant.LegalStep]++
	m := &n.Group.Machine
	if before.Role == memberstate.Leader && (m.Role != memberstate.Leader || m.Term != before.Term) {
		if x.Input.Kind == protocol.Ring && m.Term == before.Term {
			c.givesUp(n, before.Term)
		}
		c.loses(n, before.Term)
	}
	c.Counts[invariant.NeverStuck]++
	if wrong := Step(n.Rules, before, m, x); wrong != 0 {
		for broken, what := range wrong.All() {
			c.Violated(broken, n, "%s, from %+v to %+v", what, *before, m.State)
		}
	}
	if x.Input.Kind == protocol.Ring && x.Input.Number == n.Alarm && x.Output.Dropped == protocol.DropStaleAlarm {
		c.Violated(invariant.NeverStuck, n, "it ignores its alarm as if it had replaced it")
	}
	if n.Early && *m != n.Stale {
		c.Violated(invariant.LegalStep, n, "it acts on an alarm that it has replaced")
	}
	if x.Output.To != 0 && x.Output.Send.Kind == rpc.VoteRequest && before.Role != memberstate.Leader {
		office := c.office(n)
		c.broken(n, office.Asks())
	}
}

// Watched checks what makes the node look at a member after a turn. Something does, or a voter would wait for
// others for ever. A member that leaves its heartbeats to nodes has neither an alarm nor a step that waits.
func (c *Checker) Watched(n *Member, by protocol.Watch, takesPart bool) {
	c.Counts[invariant.NeverStuck]++
	if c.Counts[invariant.GivenBack]++; takesPart && n.Group.Cluttered() {
		c.Violated(invariant.GivenBack, n, "it keeps room for a step, an order, a handover or a campaign, and has none of these")
	}
	switch {
	case !takesPart:
	case by == 0 && n.Group.State().Role != memberstate.Observer:
		c.Violated(invariant.NeverStuck, n, "nothing makes its node look at it again")
	case by.Quiet() && by != protocol.WatchLeader && by != protocol.WatchCohort:
		c.Violated(invariant.NeverStuck, n, "it leaves its heartbeats to nodes, but it has an alarm, or a step of it waits (%05b)", by)
	case by.Quiet():
		c.admits(n)
	}
}
