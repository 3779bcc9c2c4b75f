// The machine: the whole protocol of one group at one member, as a value.
//
// A Machine has no clock, no goroutine, no lock, no random source, and holds no
// pointer and no string. It is copied by assignment and compared with ==. Each
// Step takes one input and fills in an Output. A Session carries out what the
// output asks for, in the order of its fields; an Err comes first.
//
// The rules of the protocol are in these files:
//
//	machine.go           the state of a machine, and Step
//	machine_io.go        its inputs and outputs
//	machine_vote.go      a voter decides on a request; every refusal has a name
//	machine_campaign.go  a candidate asks: pre-vote, rounds, and how a round is judged
//	machine_follow.go    a follower hears its leader, and waits when it does not
//	machine_lead.go      a leader beats, counts its quorum, and learns of larger terms
//	machine_handover.go  a leader hands over: transfer, resignation, preferred leaders
//	machine_ability.go   a member that cannot work lets others lead
//	machine_timing.go    members whose intervals differ, while these are changed
//
// It is DLedger's election, hardened. Where it deviates, the code says D1, D2
// and so on; docs/dledger.md lists these deviations with their reasons.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Rules are a Machine's configuration, which no step changes. Machines of groups with the
// same members may share them.
type Rules struct {
	// Self is the seat of this member.
	Self memberstate.Seat
	// Voters and All are the group's voters, and those with its observers.
	Voters, All memberstate.Set
	// Preferred are voters that should lead whenever they can.
	Preferred memberstate.Set
	// Timing holds the intervals.
	Timing Timing
	// PreVote makes a candidate ask whether it would win before it raises the term (D4).
	PreVote bool
	// Ranks makes the members take turns in standing when a leader falls silent, instead of
	// drawing lots (D12).
	Ranks bool
	// Lease is how long voters promise to stand by a leader; zero means that no leases are
	// given or asked for (D11).
	Lease time.Duration
	// Vouch is how long the engine's word counts that this member is able to lead (D26); zero means
	// that it need not say so.
	Vouch time.Duration
	// Maintenance is what the node knows of maintenance; nil: there is none. It is not the machine's to change, and
	// changes without a step.
	Maintenance *Maintenance
}

func (r *Rules) quorum() int { return memberstate.Quorum(r.Voters) }

// others are the voters except this member.
func (r *Rules) others() memberstate.Set { return r.Voters.Without(r.Self) }

// Machine is the state of one group at one member. The zero Machine is that of
// a voter that has never taken part; NewMachine makes one that restarts.
//
// Fields that begin together are one struct, which is assigned as a whole when it begins. It
// is not cleared when it ends, because late answers are still compared with it.
type Machine struct {
	// State is the role, term, vote and leader. Its HardState is durable before any output
	// that depends on it takes effect.
	memberstate.State

	// known is the largest term heard of in answers. It is only a hint, and never adopted by
	// itself: the next campaign goes above it.
	known memberstate.Term
	// notReady are the voters whose term was smaller than that of the newest request: of the
	// round of votes under way, or of a leader's newest beat.
	notReady memberstate.Set
	// unable are the voters that are not able to lead (D26), this member apart.
	unable memberstate.Set

	round    round    // of votes, under way or the last one; a leader has one when it asks for a new term (D7)
	office   office   // of a leader, or the last one
	handover Handover // by a leader, or to this member

	roundTrip uint32 // measured, in microseconds; 0: not known
	alarm     uint32 // number of the newest alarm; every other one is stale
	ballot    uint32 // number of the newest round of votes
	expected  uint32 // how long members wait for their leader, as far as this one knows, in milliseconds; see machine_timing.go

	lot       lot       // of the group, see machine_lot.go
	inability Inability // why this member is not able to lead
	hurried   uint8     // how many heartbeats a leader still sends earlier than its interval says

	hinted      bool // the leader of this term has been reported lost already (D13)
	fromHint    bool // the next pre-vote follows from such a report: wait for the leader's veto
	restartHold bool // just started: does not vote until old promises have run out (D11)
	serving     bool // the engine's Lead of a term that this member led has not returned
}

// NewMachine is a machine that starts with what its store has kept.
func NewMachine(r *Rules, hard memberstate.HardState) Machine {
	return Machine{
		State:       memberstate.Restart(hard, !r.Voters.Has(r.Self)),
		restartHold: hard.Promise > 0, // an observer neither votes nor stands
	}
}

// Step gives the machine one input.
func (m *Machine) Step(r *Rules, in *Input, out *Output) {
	*out = Output{}
	if in.Kind == Receive && in.Message.Kind == rpc.Heartbeat { // the most frequent input needs no ledger
		m.receive(r, in, out)
		return
	}
	// Any other input may need the ledger, so it is tried, and undone if it does. Nothing cheaper
	// tells beforehand: an answer may end a round, the round may have been won, and only a member
	// that goes on to ask for votes reads the ledger, with a promise for the term that it has
	// adopted by then. A function that predicts this would decide nearly everything that the step
	// decides, a second time for every input, and would have to agree with it. Reading the ledger
	// whenever it might be needed is no way out, because engines may take long for it. Trying
	// costs a small copy, and a second try is as rare as reading the ledger.
	before := *m
	m.step(r, in, out)
	if out.NeedLedger {
		*m = before
		*out = Output{NeedLedger: true, LedgerTerm: out.LedgerTerm}
	}
}

func (m *Machine) step(r *Rules, in *Input, out *Output) {
	switch in.Kind {
	case Start:
		m.start(r, out)
	case Receive:
		m.receive(r, in, out)
	case Ring:
		m.ring(r, in, out)
	case Heard:
		m.heard(r, in, out)
	case PeerLost:
		m.peerLost(r, in, out)
	case Stand:
		m.standOnCommand(r, in, out)
	case Transfer, Resign:
		m.beginHandover(r, in, out)
	case Paused:
		m.paused(r, in, out)
	case Abort:
		m.endHandover(r, out)
	case Lapsed:
		m.lapsed(r, out)
	case Served:
		if in.Number == m.office.beat { // otherwise it has won another office since
			m.serving = false
		}
	case Remain:
		m.handover.Resigning = false
	case Ability:
		m.changeAbility(r, in, out)
	case Retimed:
		m.retimed(r, in, out)
	}
}

func (m *Machine) receive(r *Rules, in *Input, out *Output) {
	q := &in.Message
	if q.Term > m.Term+memberstate.MaxTermStep { // D10
		out.Dropped = DropImpossibleTerm
		return
	}
	switch q.Kind {
	case rpc.VoteRequest:
		m.onVoteRequest(r, in, out)
	case rpc.VoteResponse:
		m.onVoteResponse(r, in, out)
	case rpc.Heartbeat:
		m.onHeartbeat(r, in, out)
	case rpc.HeartbeatResponse:
		m.onHeartbeatResponse(r, in, out)
	case rpc.TakeLeadership:
		m.onTakeLeadership(r, in, out)
	case rpc.TakeLeadershipResponse:
		m.onTakeLeadershipResponse(r, in, out)
	default:
		out.Dropped = DropMalformed
	}
}

// start arms the first alarm. D1: the term that a member restarts in is spent, so its first
// campaign raises it.
func (m *Machine) start(r *Rules, out *Output) {
	switch {
	case m.Role == memberstate.Observer:
	case m.restartHold:
		m.arm(out, m.Promise, m.Promise)
	case r.PreVote:
		m.armSlot(r, out, memberstate.Nobody)
	default:
		// Without a pre-vote the first campaign deposes any leader that there is, so
		// listen first.
		m.arm(out, r.Timing.Detection(), r.Timing.Detection()+r.Timing.MaxVoteWait)
	}
}

// ring handles the one alarm. What a member waits for depends on its role.
func (m *Machine) ring(r *Rules, in *Input, out *Output) {
	if in.Number != m.alarm {
		out.Dropped = DropStaleAlarm
		return
	}
	switch m.Role {
	case memberstate.Leader:
		m.onBeat(r, in, out)
	case memberstate.Follower, memberstate.Observer:
		m.silence(r, out)
	case memberstate.Candidate:
		switch {
		case m.restartHold:
			m.restartHold = false
			m.armSlot(r, out, memberstate.Nobody)
		case m.round.phase != idle:
			m.askAgain(r, in, out)
		default:
			m.stand(r, in, out)
		}
	}
}

// reply answers the input's message. D9: every answer names the leader.
func (m *Machine) reply(r *Rules, in *Input, out *Output, result rpc.Result) {
	q := &in.Message
	out.Replied = true
	out.Reply.Leader = m.Leader
	out.Reply.Kind = q.Kind + 1
	out.Reply.Result = result
	out.Reply.Mark = q.Mark
	out.Reply.Round = q.Round
	out.Reply.Term = m.Term
	out.Reply.Asked = q.Term
	if !m.isFit(r) {
		out.Reply.Unable = memberstate.SetOf(r.Self)
	}
}

// hasOtherLeader says whether this member has a leader that is not silent and
// is not this candidate.
func (m *Machine) hasOtherLeader(candidate memberstate.Seat) bool {
	return m.Leader != memberstate.Nobody && m.Leader != candidate
}

// arm replaces the alarm.
func (m *Machine) arm(out *Output, low, high time.Duration) {
	m.alarm++
	if m.alarm == 0 { // zero means none
		m.alarm++
	}
	out.Alarm = Alarm{Number: m.alarm, Min: low, Max: high}
}

// ledger returns the end of the ledger, as the engine gave it with a promise for the machine's
// term or a later one. If the input does not have it, the step must end, and is repeated.
//
// The promise is always for the machine's term at the moment when the ledger is read. This has
// two consequences. An engine is never bound to a term that its member does not adopt in the
// same step. And no vote is given on an end that appends of a lower term can still move: if the
// end were read before the promise, such an append could be acknowledged, and so committed,
// after a vote had been given to a candidate without it.
func (m *Machine) ledger(in *Input, out *Output) (memberstate.Position, bool) {
	if !in.HasLedger || in.LedgerTerm < m.Term {
		out.NeedLedger, out.LedgerTerm = true, m.Term
		return memberstate.Position{}, false
	}
	return in.Ledger, true
}

// adopt moves to a larger term, in the step that saw it (D3). A round under way ends, its marks
// with it, and a leader of the old term leads no more.
func (m *Machine) adopt(r *Rules, out *Output, term memberstate.Term) {
	m.leave(out)
	promise := r.Lease
	if m.Role == memberstate.Observer {
		promise = 0
	}
	m.transition(out, m.Raise(term, promise))
	m.hinted, m.fromHint, m.round.judged = false, false, WaitToRevote
	out.Save = true
}

// leave ends what belongs to the term: a round, a handover, an office.
func (m *Machine) leave(out *Output) {
	if m.Role == memberstate.Leader {
		out.Lost = true
		m.handover = Handover{}
	}
	m.round.phase = idle
}

// transition notes that the state has changed, and the error if the transition was illegal.
func (m *Machine) transition(out *Output, err error) {
	out.Changed = true
	if out.Err == nil {
		out.Err = err
	}
}

// learn remembers the largest term heard of.
func (m *Machine) learn(term memberstate.Term) { m.known = max(m.known, term) }

// observe takes in a measured round trip: longer ones at once, shorter ones gradually. A single
// measurement may say nothing about the network, for example if a process was stopped while it
// waited. So it counts for at most twice the known value plus the length of a slot; if trips
// really have become that long, the next few measurements say so, too.
func (m *Machine) observe(r *Rules, measured time.Duration) {
	most := min(2*m.measured()+r.shortestSlot(), r.longestRoundTrip())
	us := uint32(min(max(measured, 0), most).Microseconds())
	switch {
	case us == 0:
	case us >= m.roundTrip:
		m.roundTrip = us
	default:
		m.roundTrip -= (m.roundTrip - us + 7) / 8
	}
}

// longestRoundTrip bounds how far a measurement can stretch waits. Where round trips are longer
// than the beats that a leader keeps, no leader can hold out, so there is nothing to wait for;
// and a value learned in bad times must not slow down the good ones after them.
func (r *Rules) longestRoundTrip() time.Duration {
	return min(recentBeats*r.Timing.Heartbeat, time.Minute)
}

func (m *Machine) measured() time.Duration { return time.Duration(m.roundTrip) * time.Microsecond }
