// A leader hands over: transfer, resignation, preferred leaders (D14).
//
// The leader first asks the target whether its ledger has reached the point where the leader's was
// when the handover began; writes go on meanwhile. If it has, the engine pauses its writes. Only
// then does the leader tell the target to stand, with the final end of the ledger, which the
// target must have reached. Each of these phases has one detection time. All messages are sent
// again with the target's next sign of life, so a dead target costs nothing and blocks nothing. When writes are paused,
// the last of them may still be on their way to the target. It says that it is behind then, and is told again at once: nobody
// serves meanwhile, and a beat is much longer than that way.
//
// From the moment when the target is told to stand it can win, even long after the leader has given
// the handover up. So the term holds no lease from then on.
//
// Other voters are told, too, and vote for the target before it has asked them, which saves a round
// trip. In return they follow no leader if the handover fails now, and the group has to elect. So
// this is done only when somebody waits for the handover: a preferred leader, to which the office
// is offered again and again, must ask for the votes itself.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Handover is a handover of the leadership by this member, or to it. The zero value means that
// there is none. Only a leader has one with a phase: it ends with the office at the latest.
type Handover struct {
	// Goal is the end that the target's ledger must have reached. At the target it is the end of
	// its own ledger when it stood.
	Goal   memberstate.Position
	Phase  HandoverPhase
	Target memberstate.Seat
	Reason HandoverReason
	// Resigning says that this member steps down even if the handover fails.
	Resigning bool

	patience uint8 // beats left for this phase
	repeats  uint8 // how often the target was told to stand again since the last beat
}

// mostRepeats is how often a target that is behind is told to stand again at once, until the next beat.
const mostRepeats = 16

// HandoverPhase is how far a handover has come.
type HandoverPhase uint8

const (
	// NoHandover: there is none.
	NoHandover HandoverPhase = iota
	// Probing: the target was asked whether its ledger is near enough.
	Probing
	// Pausing: the engine is to stop accepting writes, and say Paused.
	Pausing
	// Taking: the target has been told to stand.
	Taking
)

var handoverNames = [...]string{NoHandover: "none", Probing: "probing", Pausing: "pausing", Taking: "taking"}

// String names the phase for logs.
func (p HandoverPhase) String() string {
	return named(handoverNames[:], p, "unknown handover")
}

// HandoverReason is why a leader hands over.
type HandoverReason uint8

const (
	// ToAnyone: on command, to any voter that can take over.
	ToAnyone HandoverReason = iota
	// ToNamed: on command, to the target only.
	ToNamed
	// ToPreferred: to a preferred leader, of the leader's own accord, so nobody waits for it.
	ToPreferred
	// ToAble: to a voter that is able, of the leader's own accord, because it is not able itself
	// (D26). If nobody takes over, it steps down.
	ToAble
)

// open says that any voter will do.
func (h *Handover) open() bool { return h.Reason == ToAnyone || h.Reason == ToAble }

// beginHandover carries out a command. A resignation joins a transfer that is under way.
func (m *Machine) beginHandover(r *Rules, in *Input, out *Output) {
	if m.Role != memberstate.Leader {
		return
	}
	resign := in.Kind == Resign
	if m.handover.Phase != NoHandover {
		m.handover.Resigning = m.handover.Resigning || resign
		return
	}
	target, why := in.Seat, ToNamed
	if target == memberstate.Nobody { // as always if it resigns
		target, why = in.First, ToAnyone
		if !m.successors(r).Has(target) {
			target = m.successor(r, memberstate.Nobody)
		}
	}
	switch {
	case r.others().Has(target):
		m.handOver(r, in, out, target, why)
		m.handover.Resigning = resign
	case resign: // there is no other voter
		m.stepDown(out)
		m.armRest(r, out)
	}
}

// handOver begins by asking whether the target could take over.
func (m *Machine) handOver(r *Rules, in *Input, out *Output, target memberstate.Seat, why HandoverReason) {
	end, ok := m.ledger(in, out)
	if !ok {
		return
	}
	m.round.phase = idle // D7 waits while a handover is on
	m.handover = Handover{Phase: Probing, Target: target, Reason: why, Goal: end, patience: uint8(r.Timing.Leak)}
	m.sendTake(r, out)
}

// sendTake asks the target, in the phase Probing, or tells it to stand.
func (m *Machine) sendTake(r *Rules, out *Output) {
	out.To = memberstate.SetOf(m.handover.Target)
	mark := rpc.Plain
	switch {
	case m.handover.Phase == Probing:
		mark = rpc.PreVote
	case m.handover.Reason != ToPreferred && (m.handover.Reason != ToAble || !m.inability.hangs()):
		out.To = r.others()
	}
	out.Send = Message{Leader: m.handover.Target, Body: rpc.Body{
		Kind: rpc.TakeLeadership, Mark: mark, Round: m.office.beat, Term: m.Term, Ledger: m.handover.Goal,
		Unable: r.lastChoice() & memberstate.SetOf(m.handover.Target),
	}}
}

// onTakeLeadership: the leader asks this member to stand in its place, or to vote for the member
// that does. That member stands in the next term, without a pre-vote. So a late heartbeat of the
// old leader finds a larger term and changes nothing.
func (m *Machine) onTakeLeadership(r *Rules, in *Input, out *Output) {
	q := &in.Message
	heir := q.Leader == r.Self
	switch {
	case m.Role != memberstate.Follower || m.Leader != q.From || m.Term != q.Term || heir && m.serving:
		m.reply(r, in, out, rpc.NotFollowing)
	case heir:
		m.inherit(r, in, out)
	default:
		m.vouch(r, in, out)
	}
}

// inherit stands in the leader's place, if this member's ledger has reached the goal.
func (m *Machine) inherit(r *Rules, in *Input, out *Output) {
	if m.refusesToInherit(r, in, out) {
		return
	}
	q := &in.Message
	end, ok := m.ledger(in, out)
	switch {
	case !ok:
	case end.Compare(q.Ledger) < 0:
		m.reply(r, in, out, rpc.LedgerBehind)
		out.Reply.Ledger = end // for people who ask why it did not take over
	case q.Mark == rpc.PreVote:
		m.reply(r, in, out, rpc.Accept)
	default:
		m.askVotes(r, in, out, m.Term+1, rpc.Handed, q.From)
	}
}

// vouch votes for the heir as if it had asked, with a ledger that ends at the goal. The heir may
// later ask with a longer ledger or, at an older word of this leader's, with a shorter one. So the
// vote says on which end it was given, and counts only for a candidate whose ledger reaches that.
// A refusal is not sent, because the heir will ask this voter itself.
func (m *Machine) vouch(r *Rules, in *Input, out *Output) {
	q, own := &in.Message, *in
	own.Message = Message{From: q.Leader, Leader: q.From, Body: rpc.Body{
		Kind: rpc.VoteRequest, Mark: rpc.Handed, Term: q.Term + 1, Ledger: q.Ledger,
	}}
	if m.arbitrate(r, &own, out, false) != rpc.Accept {
		return
	}
	out.To = memberstate.SetOf(q.Leader)
	out.Send = Message{Body: rpc.Body{
		Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: rpc.Vouched, Term: m.Term, Asked: m.Term, Ledger: q.Ledger,
	}}
}

func (m *Machine) onTakeLeadershipResponse(r *Rules, in *Input, out *Output) {
	q := &in.Message
	if !r.Voters.Has(q.From) {
		out.Dropped = DropNotAVoter
		return
	}
	probe, current := q.Mark == rpc.PreVote, q.From == m.handover.Target
	if q.Asked == m.Term && m.handover.Phase == Taking && !probe && current && q.Result == rpc.LedgerBehind {
		m.takeAgain(r, out)
		return
	}
	if q.Asked != m.Term || m.handover.Phase != Probing || !probe || !current && !m.handover.open() {
		out.Dropped = DropStaleAnswer
		return
	}
	switch {
	case q.Result == rpc.Accept: // to anyone: a voter that was asked before the last beat will do, too
		m.handover.Phase, m.handover.patience = Pausing, uint8(r.Timing.Leak)
		m.handover.Target = q.From
	case m.handover.open() && current:
		m.handover.Target = m.successor(r, m.handover.Target) // asked with its next sign of life
	}
}

// takeAgain tells a target again that was behind.
func (m *Machine) takeAgain(r *Rules, out *Output) {
	if m.handover.repeats == mostRepeats {
		return
	}
	m.handover.repeats++
	m.sendTake(r, out)
	out.To = memberstate.SetOf(m.handover.Target) // the others know
}

// paused: no write of this term will be accepted until the handover has ended, so the ledger's
// end is final, and the target is told to stand.
func (m *Machine) paused(r *Rules, in *Input, out *Output) {
	if m.handover.Phase != Pausing {
		return
	}
	end, ok := m.ledger(in, out)
	if !ok {
		return
	}
	m.handover.Phase, m.handover.patience = Taking, uint8(r.Timing.Leak)
	m.handover.Goal, m.office.leaseVoid = end, true
	m.sendTake(r, out)
}

// waitForHandover counts the beats of a handover. It ends in time whatever the target does, and
// then the old leader carries on.
func (m *Machine) waitForHandover(r *Rules, out *Output) {
	if m.handover.Phase == NoHandover {
		return
	}
	m.handover.patience--
	m.handover.repeats = 0
	switch {
	case m.handover.patience == 0:
		m.endHandover(r, out)
	case m.handover.Phase == Probing && m.handover.open():
		m.handover.Target = m.successor(r, m.handover.Target)
	}
}

// endHandover gives a handover up. A member that resigns steps down all the same, and rests while
// the others elect.
func (m *Machine) endHandover(r *Rules, out *Output) {
	resigning, preferred := m.handover.Resigning || m.hasToGiveWay(r), r.Preferred.Has(m.handover.Target)
	m.handover = Handover{}
	if resigning {
		m.stepDown(out)
		m.armRest(r, out)
		return
	}
	if preferred { // a preferred leader that cannot take over is asked ever more rarely
		m.office.declined = min(m.office.declined+1, maxDeclined)
		m.office.nextOffer = m.office.beat + uint32(r.Timing.Leak)<<m.office.declined
	}
}

// maxDeclined bounds the wait between two offers to 2^maxDeclined detection times.
const maxDeclined = 7

// armRest waits for the others to elect before this member stands again.
func (m *Machine) armRest(r *Rules, out *Output) {
	rest := 2 * r.Timing.Detection()
	m.arm(out, rest, rest+r.Timing.MaxVoteWait)
}

// onVoterAlive does what was put off until a voter's next sign of life: the handover to it, an
// offer to it if it should lead instead of this member, or, if this term can hold no lease any
// more, the request for a new term.
func (m *Machine) onVoterAlive(r *Rules, in *Input, out *Output) {
	from := in.Message.From
	switch {
	case m.handover.Phase != NoHandover:
		m.reconsiderTarget(r)
		if from == m.handover.Target && m.handover.Phase != Pausing {
			m.sendTake(r, out)
		}
	case r.Lease > 0 && m.office.leaseVoid:
		m.renew(r, in, out)
	case r.mayOffer() && r.Preferred.Has(from) && !m.unfit(r).Has(from) && int32(m.office.beat-m.office.nextOffer) >= 0:
		m.handOver(r, in, out, from, ToPreferred)
	}
}

// successors are the voters that are asked to take over: those that have answered lately and are fit to lead. If there
// are none, others are.
func (m *Machine) successors(r *Rules) memberstate.Set {
	alive := r.others() & m.Alive()
	if alive == 0 {
		alive = r.others()
	}
	if serving := alive &^ r.lastChoice(); serving != 0 {
		alive = serving
	}
	if able := alive &^ m.unable; able != 0 {
		alive = able
	}
	return alive
}

// successor is the voter to hand over to: the one with the earliest turn, or the next one after a voter that could not take over.
func (m *Machine) successor(r *Rules, after memberstate.Seat) memberstate.Seat {
	best, next := memberstate.Nobody, memberstate.Nobody
	earlier := func(v, than memberstate.Seat) bool {
		return than == memberstate.Nobody || m.turn(r, v, r.Self) < m.turn(r, than, r.Self)
	}
	for v := range m.successors(r).Seats() {
		if earlier(v, best) {
			best = v
		}
		if after != memberstate.Nobody && earlier(after, v) && earlier(v, next) {
			next = v
		}
	}
	if next != memberstate.Nobody {
		return next
	}
	return best
}
