// The inputs of a machine, its outputs, and what its driver may ask it between two steps.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// InputKind says what happened to a machine.
type InputKind uint8

const (
	// Start begins the work of a machine. It is the first input, once.
	Start InputKind = iota + 1
	// Receive: a Message arrived.
	Receive
	// Ring: the alarm with this Number rang. It must never ring early.
	Ring
	// Heard: the engine heard from Seat, as the leader of Term.
	Heard
	// PeerLost: the process of Seat is gone, as far as the transport can tell.
	PeerLost
	// Stand: this member is to stand now, if it may.
	Stand
	// Transfer: hand over to Seat, or to the best voter if Seat is Nobody.
	Transfer
	// Resign: hand over to the best voter, and step down even if that fails.
	Resign
	// Paused: the engine has stopped accepting writes for the handover.
	Paused
	// Abort: give up the handover.
	Abort
	// Lapsed: the lease has run out, by its holder's clock; or the office has ended because
	// LedgerEnd did not return.
	Lapsed
	// Served: no Lead of the engine was running or due to run when the newest beat had this
	// Number.
	Served
	// Remain: no order wants this member to resign any more. A handover under way goes on as a
	// transfer: if it fails, this member leads on.
	Remain
	// Ability: this member is able to lead, or is not, for the reason Inability.
	Ability
	// Retimed: the intervals in the rules have changed.
	Retimed
)

// Input is one thing that happens to a machine.
type Input struct {
	Kind    InputKind
	Message Message          // Receive
	Number  uint32           // Ring, Served
	Seat    memberstate.Seat // Heard, PeerLost, Transfer
	// First is the voter that is asked first if anyone may take over, and it may as well as others.
	First memberstate.Seat // Transfer
	Term  memberstate.Term // Heard
	// Inability is why this member is not able to lead; zero if it is.
	Inability Inability // Ability; Lapsed, if it is not the lease that has run out

	// RoundTrip is, for an answer, how long ago its request was sent; zero if
	// that is not known.
	RoundTrip time.Duration

	// Ledger is the end of the ledger. LedgerTerm is the term that the engine was asked with: it
	// has promised to acknowledge no append of a lower term from then on. HasLedger says that
	// both are given, as Output.NeedLedger has asked.
	HasLedger  bool
	LedgerTerm memberstate.Term
	Ledger     memberstate.Position
}

// Message is a message with seats in place of members' ids.
type Message struct {
	From   memberstate.Seat
	Leader memberstate.Seat
	rpc.Body
}

// Output is what a step asks for, to be carried out in the order of the fields, except Err, which
// comes first.
type Output struct {
	// NeedLedger says that nothing has happened yet: the step needs the end of the ledger, with
	// a promise for LedgerTerm, and must be repeated with it in the input. No other field is set.
	NeedLedger bool
	LedgerTerm memberstate.Term

	// Lost: this member led until this step. The engine is told before anything is waited for.
	Lost bool
	// Save: HardState must be durable BEFORE anything below takes effect. If it cannot be saved,
	// the member must stop.
	Save bool
	// Changed: the role, term, vote or leader has changed.
	Changed bool

	// Replied: Reply goes to the sender of the input's message.
	Replied bool
	Reply   Message
	// To: Send goes to these members. Empty: there is nothing to send.
	To   memberstate.Set
	Send Message

	// Alarm replaces the one alarm of the machine, if its Number is not zero.
	Alarm Alarm

	// Ended: a round of this member's was judged, which had asked with this mark. It is for
	// counters.
	Ended  bool
	Asked  rpc.Mark
	Judged Judgement

	// Dropped says why the input's message was ignored, if it was.
	Dropped Drop
	// Err is a defect: the step tried an illegal transition. The member must stop before
	// anything of this output takes effect.
	Err error
}

// Alarm asks for a Ring with this number after a time that the caller draws between Min and Max.
type Alarm struct {
	Number   uint32
	Min, Max time.Duration
}

// Serving says whether this member has begun to lead and has not been told since that no Lead of
// the engine runs any more. Until then it does not stand.
func (m *Machine) Serving() bool { return m.serving }

// Handover is the handover under way, if this member leads.
func (m *Machine) Handover() Handover { return m.handover }

// Ballot is the number of the newest round of votes.
func (m *Machine) Ballot() uint32 { return m.ballot }

// Repeats says whether the request for votes that this step sends was sent before in the same
// round. Its round trip is counted from the first time.
func (m *Machine) Repeats() bool { return m.round.repeated }

// Beat is the number of the newest beat.
func (m *Machine) Beat() uint32 { return m.office.beat }

// HeardBeat is the newest beat that a quorum answered. Until there is one in this office, it is
// the last one before the office.
func (m *Machine) HeardBeat() uint32 { return m.office.heardBeat }

// LeaseBeat is the beat from whose sending the leader's lease runs, zero if it holds none.
func (m *Machine) LeaseBeat() uint32 {
	if m.Role != memberstate.Leader || m.office.leaseVoid {
		return 0
	}
	return m.office.leaseBeat
}

// OfOffice says whether a beat belongs to this office, if it is one of the newest.
func (m *Machine) OfOffice(beat uint32) bool { return m.office.acks[beat%recentBeats] != 0 }

// Alive are the members that have answered one of the leader's last two beats.
func (m *Machine) Alive() memberstate.Set {
	return m.office.acks[m.office.beat%recentBeats] | m.office.acks[(m.office.beat-1)%recentBeats]
}

// Answering are the members that have answered one of the beats that are kept. Where round trips are longer than two beats,
// nobody has answered the last two.
func (m *Machine) Answering() (all memberstate.Set) {
	for _, acks := range m.office.acks {
		all |= acks
	}
	return all
}
