// A member that cannot work does not lead while another can (D26).
//
// Heartbeats need neither the engine nor its disk. So a leader whose engine hangs would go on
// beating: all others would follow it, and every client would wait. Therefore leading is bound to
// the ability to do the work of a leader:
//
//   - A machine is told whether its member is able. Every answer says it, a follower that is not able
//     any more tells its leader at once, and heartbeats pass on what the leader knows. So each member
//     knows it of all others before it needs it.
//   - A leader that is not able waits for one beat, so that it learns whether the others have lost
//     their ability at the same moment, as they do when they share a disk. Then it hands over to a
//     voter that is able. If none takes over within a detection time, it steps down and rests. One
//     that has recovered meanwhile leads on.
//   - A candidate that is not able rests before it stands, and takes nothing over. It votes and
//     follows like any other member.
//
// This is an order, not a veto. If no other voter is able, the leader goes on leading, because moving
// the leadership between members that are equally slow would only add to the harm; and if no able
// voter is elected within a rest, one that is not able stands. So ability can delay an election, but
// it can never prevent one. It decides nothing that safety needs: votes are given as always.
//
// An able voter may be unable to win, because its ledger is behind. Then the same member may be
// elected again and again. So it gives up its office ever more rarely, until it is able again.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Inability is why a member cannot do the work of a leader.
type Inability uint8

const (
	// Able: it can.
	Able Inability = iota
	// NotAbleOrdered: it was ordered not to lead.
	NotAbleOrdered
	// NotAbleUnhealthy: its engine says so.
	NotAbleUnhealthy
	// NotAbleSilent: its engine has not vouched for it in time.
	NotAbleSilent
	// NotAbleDisk: its store has been saving for too long.
	NotAbleDisk
	// NotAbleLedger: the engine's LedgerEnd has not returned in time.
	NotAbleLedger
	// NotAblePause: nor has its Pause.
	NotAblePause
	// NotAbleLead: nor has its Lead, whose context has ended.
	NotAbleLead
	// NotAbleHold: it is able again, but has not been for long enough.
	NotAbleHold
)

var inabilityNames = [...]string{
	Able:             "able",
	NotAbleOrdered:   "ordered",
	NotAbleUnhealthy: "unhealthy",
	NotAbleSilent:    "engine silent",
	NotAbleDisk:      "disk",
	NotAbleLedger:    "ledger end",
	NotAblePause:     "pause",
	NotAbleLead:      "lead",
	NotAbleHold:      "just recovered",
}

// String names the cause; "able" if there is none.
func (i Inability) String() string { return named(inabilityNames[:], i, "unknown cause") }

// hangs says that the engine or the disk does not return. Nothing is asked of it then, because the
// machine would have to wait for the answer.
func (i Inability) hangs() bool { return i >= NotAbleSilent && i < NotAbleHold }

// works says that a leader can do its work. One that has just recovered can, so it goes on leading.
func (i Inability) works() bool { return i == Able || i == NotAbleHold }

// Inability is why this member is not able to lead, as its driver has said.
func (m *Machine) Inability() Inability { return m.inability }

// changeAbility takes the driver's word.
func (m *Machine) changeAbility(r *Rules, in *Input, out *Output) {
	if m.Role == memberstate.Observer || m.inability == in.Inability {
		return
	}
	was := m.inability
	m.inability, out.Changed = in.Inability, true
	if m.inability == Able {
		m.office.declined, m.office.nextOffer = 0, m.office.beat+uint32(r.Timing.Leak)
	}
	switch {
	case m.inability.works():
		if h := &m.handover; h.Reason == ToAble && h.Phase != Taking && !h.Resigning {
			*h = Handover{}
		}
	case m.Role == memberstate.Leader:
		if was == Able {
			m.office.declined, m.office.nextOffer = 0, m.office.beat+1
		}
		m.giveWay(r, in, out) // perhaps a handover is under way that must be hastened
	case m.Role == memberstate.Follower:
		m.reportInability(r, out)
	case was == Able && m.Role == memberstate.Candidate && m.round.phase == idle && !m.restartHold && m.standsLast(r, memberstate.Nobody):
		m.armRest(r, out)
	}
}

// reportInability tells the leader of a follower that is not able, without waiting for its next
// heartbeat.
func (m *Machine) reportInability(r *Rules, out *Output) {
	out.To = memberstate.SetOf(m.Leader)
	out.Send = Message{Leader: m.Leader, Body: rpc.Body{
		Kind: rpc.HeartbeatResponse, Result: rpc.NotAble, Term: m.Term, Asked: m.Term, Unable: memberstate.SetOf(r.Self),
	}}
}

// hearsAbility notes whether the sender of an answer is able.
func (m *Machine) hearsAbility(q *Message) {
	if q.Unable.Has(q.From) {
		m.unable = m.unable.With(q.From)
	} else {
		m.unable = m.unable.Without(q.From)
	}
}

// allUnable are all members that are not able, as far as this one knows, itself included.
func (m *Machine) allUnable(r *Rules) memberstate.Set {
	if m.isFit(r) {
		return m.unable
	}
	return m.unable.With(r.Self)
}

// ableHeirs are the voters that could lead instead of this leader: they have answered lately that
// they are able. Where round trips are longer than two beats nobody has answered the last two, so
// all beats that are kept count.
func (m *Machine) ableHeirs(r *Rules) memberstate.Set {
	alive := r.others() & m.Alive()
	if alive == 0 {
		alive = r.others() & m.Answering()
	}
	return alive &^ m.unfit(r)
}

// standsLast says whether this member lets others stand first, because it is not fit to lead and another
// voter may be. The last leader does not count, because it has just fallen silent.
func (m *Machine) standsLast(r *Rules, last memberstate.Seat) bool {
	return !m.isFit(r) && r.others().Without(last)&^m.unfit(r) != 0
}

// giveWay makes a leader that is not able hand over to a voter that is. If something of its own
// hangs, the leader cannot wait for it: it neither reads its ledger nor waits until its writes are
// paused, and tells the heir to stand at once. Whether the heir's ledger is good enough is then for the voters to
// decide, as in any election; and writes that are under way end with the term.
func (m *Machine) giveWay(r *Rules, in *Input, out *Output) {
	h := &m.handover
	underWay := h.Reason == ToAble && (h.Phase == Probing || h.Phase == Pausing)
	switch {
	case m.inability.works() || m.ableHeirs(r) == 0:
		return
	case h.Phase == NoHandover && int32(m.office.beat-m.office.nextOffer) >= 0:
		m.office.declined = min(m.office.declined+1, maxDeclined)
		m.office.nextOffer = m.office.beat + uint32(r.Timing.Leak)<<m.office.declined
	case underWay && m.inability.hangs(): // what it waits for may never come
	default:
		return
	}
	heir := m.successor(r, memberstate.Nobody)
	if !m.inability.hangs() {
		m.handOver(r, in, out, heir, ToAble)
	} else {
		m.round.phase = idle // D7 waits while a handover is on
		*h = Handover{Phase: Taking, Target: heir, Reason: ToAble, Resigning: h.Resigning, patience: uint8(r.Timing.Leak)}
		m.office.leaseVoid = true
		m.sendTake(r, out)
	}
}

// hasToGiveWay says whether a leader whose handover has failed steps down all the same, because it
// is not able and another voter is.
func (m *Machine) hasToGiveWay(r *Rules) bool {
	return m.handover.Reason == ToAble && !m.inability.works() && m.ableHeirs(r) != 0
}

// offersDeclined is how many handovers of its own accord a new leader counts from before. It is
// none, unless this member is not able: then it leads again, although it has given up an office for
// that reason.
func (m *Machine) offersDeclined() uint8 {
	if m.inability == Able {
		return 0
	}
	return m.office.declined
}

// refusesToInherit answers a leader that would hand over to this member, which is not fit to lead. A leader that
// knows of nobody better says so; then it is enough that this member is able.
func (m *Machine) refusesToInherit(r *Rules, in *Input, out *Output) bool {
	if m.isFit(r) || m.inability == Able && in.Message.Unable.Has(r.Self) {
		return false
	}
	m.reply(r, in, out, rpc.NotAble)
	return true
}
