// The machine: the whole protocol of one group at one member, as a value.
//
// A Machine has no clock, no goroutine, no lock, no random source, and holds no
// pointer and no string. It is copied by assignment and compared with ==. Each
// Step takes one input and fills in an Output; what the output asks for is
// carried out by a Session, in the order of the output's fields.
//
// The rules of the protocol are found here:
//
//	machine.go           what a machine remembers, and Step
//	machine_io.go        what it is told, and what it asks for
//	machine_vote.go      a voter is asked: arbitration, with a name for every refusal
//	machine_campaign.go  a candidate asks: pre-vote, rounds, and how a round is judged
//	machine_follow.go    a follower hears its leader, and waits when it does not
//	machine_lead.go      a leader beats, counts its quorum, and learns of larger terms
//	machine_handover.go  a leader hands over: transfer, resignation, preferred leaders
//
// It is DLedger's election, hardened. Where it deviates, the code says D1, D2
// and so on; docs/protocol.md lists these deviations with their reasons.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Rules are what a Machine goes by and does not change itself. Machines of
// groups with the same members may share them.
type Rules struct {
	// Self is the seat of the member that the machine is.
	Self memberstate.Seat
	// Voters and All are the group's voters, and those with its observers.
	Voters, All memberstate.Set
	// Preferred are voters that should lead whenever they can.
	Preferred memberstate.Set
	// Timing holds the intervals.
	Timing Timing
	// PreVote has a candidate ask whether it would win before it raises the
	// term (D4).
	PreVote bool
	// Ranks has the members take turns in standing when a leader falls silent,
	// instead of drawing lots (D12).
	Ranks bool
	// Lease is how long a lease lasts at those who promise it; zero means that
	// none is given or asked for (D11).
	Lease time.Duration
}

func (r *Rules) quorum() int { return memberstate.Quorum(r.Voters) }

// others are the voters but this member.
func (r *Rules) others() memberstate.Set { return r.Voters.Without(r.Self) }

// Machine is the state of one group at one member. The zero Machine is that of
// a voter that has never taken part; NewMachine makes one that restarts.
//
// What begins together is one value, and is begun by assigning it whole. It is
// not cleared when it ends, because late answers are still held against it.
type Machine struct {
	// State is who this member is. Its HardState is durable before any output
	// that depends on it takes effect.
	memberstate.State

	// known is the largest term heard of in answers. The next campaign goes
	// above it. It is a hint from others, and never adopted by itself.
	known memberstate.Term
	// notReady are those whose term was smaller than that of the newest request:
	// of the round of votes under way, or of a leader's newest beat.
	notReady memberstate.Set

	round    round    // of votes, under way or the last one; a leader has one when it asks for a new term (D7)
	office   office   // of a leader, or the last one
	handover Handover // of a leader, or to this member

	roundTrip uint32 // measured, in microseconds; 0: not known
	alarm     uint32 // number of the newest alarm; every other one is stale
	ballot    uint32 // number of the newest round of votes

	hinted      bool // the leader of this term has been reported lost already (D13)
	fromHint    bool // the next pre-vote follows from such a report: wait for the leader's veto
	restartHold bool // just started: does not vote until old promises have run out (D11)
	serving     bool // the engine's Lead of a term that this member led has not returned
}

// NewMachine is a machine that starts with what its store has kept.
func NewMachine(r *Rules, hard memberstate.HardState) Machine {
	observer := !r.Voters.Has(r.Self)
	return Machine{
		State:       memberstate.Restart(hard, observer),
		restartHold: hard.Promise > 0 && !observer,
	}
}

// Step is what one input does to the machine.
func (m *Machine) Step(r *Rules, in *Input, out *Output) {
	*out = Output{}
	if in.Kind == Receive && in.Message.Kind == rpc.Heartbeat { // the most frequent input needs no ledger
		m.receive(r, in, out)
		return
	}
	// Whatever else may, and is tried. Whether it does cannot be said much sooner: an answer
	// may end a round, the round may have been won, and only whoever goes on to ask for votes
	// reads the ledger, with the promise of the term that is adopted to ask for them. A
	// function that says so beforehand would decide nearly all that the step decides, for every
	// input and once more, and would have to come to the same. Trying costs a copy, which is
	// small, and a second try is as seldom as the ledger is read. To read it at a mere chance
	// would be no way out: engines may take long for it.
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
		if in.Number == m.office.beat { // else it has won another office since
			m.serving = false
		}
	case Remain:
		m.handover.Resigning = false
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

// start arms the first alarm. D1: the state that a member restarts with is
// spent, so its first campaign raises the term.
func (m *Machine) start(r *Rules, out *Output) {
	switch {
	case m.Role == memberstate.Observer:
	case m.restartHold:
		m.arm(out, m.Promise, m.Promise)
	case r.PreVote:
		m.armSlot(r, out, memberstate.Nobody)
	default:
		// Without a pre-vote the first campaign deposes whoever leads, so
		// listen first.
		m.arm(out, r.Timing.Detection(), r.Timing.Detection()+r.Timing.MaxVoteWait)
	}
}

// ring is the one alarm: what a member waits for depends on what it is.
func (m *Machine) ring(r *Rules, in *Input, out *Output) {
	if in.Number != m.alarm {
		out.Dropped = DropStaleAlarm
		return
	}
	switch m.Role {
	case memberstate.Leader:
		m.onBeat(r, out)
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
func (m *Machine) reply(in *Input, out *Output, result rpc.Result) {
	q := &in.Message
	out.Replied = true
	out.Reply.Leader = m.Leader
	out.Reply.Kind = q.Kind + 1
	out.Reply.Result = result
	out.Reply.Mark = q.Mark
	out.Reply.Round = q.Round
	out.Reply.Term = m.Term
	out.Reply.Asked = q.Term
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

// ledger is the end of the ledger as the engine promised it for this term, or
// a later one. If it is not there the step must end, and is repeated.
//
// The promise is always that of the machine's own term as it stands when the
// ledger is read. So an engine is never bound to a term that its member does
// not adopt in the same step, and a vote is never given on an end that may
// still grow by appends of a lower term: judged apart, ledger and vote lose
// committed entries.
func (m *Machine) ledger(in *Input, out *Output) (memberstate.Position, bool) {
	if !in.HasLedger || in.LedgerTerm < m.Term {
		out.NeedLedger, out.LedgerTerm = true, m.Term
		return memberstate.Position{}, false
	}
	return in.Ledger, true
}

// adopt moves to a larger term. D3: in the step that saw it. A round under way
// ends, and with it its marks; a leader of the old term leads no more.
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

// leave ends what was going on in the term: a round, a handover, an office.
func (m *Machine) leave(out *Output) {
	if m.Role == memberstate.Leader {
		out.Lost = true
		m.handover = Handover{}
	}
	m.round.phase = idle
}

// transition notes that a transition was made, or that it was illegal.
func (m *Machine) transition(out *Output, err error) {
	out.Changed = true
	if out.Err == nil {
		out.Err = err
	}
}

// learn remembers the largest term heard of.
func (m *Machine) learn(term memberstate.Term) { m.known = max(m.known, term) }

// observe takes in a measured round trip: longer ones soon, shorter ones by and by.
// A single one may say nothing of the network, as when a process was stopped while
// it waited. So it counts for no more than twice what was known and the length of a
// slot; if trips really are as long now, the next few say so, too.
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

// longestRoundTrip bounds what a measurement can stretch waits to. Where round trips are
// longer than the beats that a leader keeps no leader can hold out, so there is nothing to
// wait for; and what was learnt in bad times must not slow down the good ones after them.
func (r *Rules) longestRoundTrip() time.Duration {
	return min(recentBeats*r.Timing.Heartbeat, time.Minute)
}

func (m *Machine) measured() time.Duration { return time.Duration(m.roundTrip) * time.Microsecond }
