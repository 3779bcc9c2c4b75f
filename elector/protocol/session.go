// A session: a machine, and everything that its driver has to remember.
//
// A Machine decides one step, and says what that step asks for. To drive it, one must
// also know when a round was sent, until when the lease lasts, whether a Lead of the
// engine still runs, whether writes are paused, and who ordered a handover. A Session
// knows all of that, so that its driver decides nothing. Like the machine it is a value:
// its methods receive the time, and call Effects for everything that they ask for.
//
// The driver calls:
//
//	Begin, Ledger, Saved   an input, and then what its step waits for; one at a time
//	LeaseOver              the lease has run out by the driver's clock
//	LosesOffice            a leader's step has waited for the ledger for too long
//	LeadReturned           the engine's Lead has returned
//	PauseEnded             the engine has paused its writes, or could not
//	Orders                 how many orders to hand over stand
//	Quit                   this member is to resign, and that is never withdrawn
//	Attend                 go on with what the five calls above have changed
//
// The session takes some steps of its own, such as telling the machine that no Lead runs
// any more. They need no driver: Begin, Ledger, Saved and Attend return when nothing is
// left to do, or when a step has to wait.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Session is one group at one member, with what its driver has to remember. There may be a great
// many that only follow, so the fields that these do not need are kept apart.
type Session struct {
	Machine

	ledger    ledgerLog
	duties    *Duties          // nil: there are none
	last      memberstate.Seat // the leader that was last taken for gone
	departure Departure        // and why
}

// Duties are what a member has to remember while it leads, asks for votes or hands over, and until
// it has finished with that. They are copied by assignment and compared with ==.
type Duties struct {
	sent   SentTimes // when rounds were sent
	lease  lease
	lead   lead
	pause  pause
	orders orders
	offers *officeBonds // of an office, by the node; nil while there are none
}

// Effects carry out what a session asks for. In a step they are called in the order in which they
// are listed here, except that Hold may also come just before a Send that lets a target stand.
// Hold, EndLead and Show may also come between steps and when the group ends; the last four come
// only then.
//
// They are all that a driver has to carry out, so it never has to look whether something has changed. A node
// looks at three things all the same, to report them, and nothing is decided by that: at Repeats when it counts requests for
// votes, at HeardBeat for how long a quorum took to answer, and at Handover for why a handover has failed. They are no
// effects because no driver but the node wants to know, and each step would pay for them.
type Effects interface {
	// Before and After are called around each step of the machine. Nothing has taken effect
	// yet.
	Before(in *Input)
	After(x *Step)
	// Hold says until when the lease lasts, zero when none is held any more. The driver ends
	// Lead at that time, whatever else it has to do, and then calls LeaseOver. When the office
	// is lost, Hold is called before the disk is waited for.
	Hold(until time.Duration)
	// EndLead ends the context of the Lead that runs. The driver calls LeadReturned when it has
	// returned. When the office is lost, EndLead is called before the disk is waited for.
	EndLead(term memberstate.Term)
	// Show publishes the member's view. All of it is durable, so that a restart takes nothing
	// of it back; only a loss is shown before the disk is waited for.
	Show(v View)
	// Reply answers the message that was the input.
	Reply(m *Message)
	// Send sends a message to each of a set of members.
	Send(to memberstate.Set, m *Message)
	// Arm replaces the member's alarm.
	Arm(a Alarm)
	// Judge counts a round of votes of this member that has ended.
	Judge(asked rpc.Mark, judged Judgement)
	// Drop counts an input that was ignored.
	Drop(why Drop)
	// Done says that the input has been handled. The steps that follow are the session's own.
	Done()

	// Lead calls the engine's Lead for a term. None is running. For an engine that has no Lead
	// the driver acts as if there were one that returns when its context ends.
	Lead(term memberstate.Term)
	// Pause makes the engine pause its writes for a handover. The driver then calls PauseEnded
	// with this number; at once if there is nothing to pause.
	Pause(term memberstate.Term, number uint32)
	// Resume ends that handover: writes go on if the term is still led.
	Resume()
	// Settle says that no handover is under way: the orders that the machine was given have been
	// carried out, or could not be.
	Settle()
}

// Step is an input on its way through a session. It may have to wait, for the end of the
// ledger and then for the disk; until it is done the session must not be given another
// input. It is a value.
type Step struct {
	Input  Input
	Output Output
	// Withdrawn says that the order which is the input has been withdrawn. A step that still
	// waits for the ledger has changed nothing yet, and then never does.
	Withdrawn bool

	need  Need
	own   bool // the session's own, so no caller waits for it
	shown View // before the step
	told  bool // that the step ends an office
}

// Need is what a Step waits for.
type Need uint8

const (
	// NeedNothing: it is done.
	NeedNothing Need = iota
	// NeedLedger: the end of the ledger, with the promise of Output.LedgerTerm.
	NeedLedger
	// NeedSave: the machine's HardState, durable.
	NeedSave
	// NeedStop: the machine has found a defect, or the engine's ledger has one: Output.Err.
	// The member must be stopped.
	NeedStop
)

// NewSession is a session that starts with what its store has kept. The ledger ended at end when it
// was asked with a promise for the term asked.
func NewSession(r *Rules, hard memberstate.HardState, end memberstate.Position, asked memberstate.Term) Session {
	return Session{
		Machine: NewMachine(r, hard),
		ledger:  ledgerLog{end: end, asked: asked, known: end.Term},
	}
}

// Begin gives the machine x.Input.
func (s *Session) Begin(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	x.Withdrawn, x.own = false, false
	s.step(r, now, x, fx)
	return s.goOn(r, now, x, fx)
}

// Ledger goes on after NeedLedger: the ledger ended there when the promise was made. Heard is the
// largest term whose leader the engine has heard of. A ledger that breaks its contract stops the
// member.
func (s *Session) Ledger(r *Rules, now time.Duration, x *Step, fx Effects, end memberstate.Position, heard memberstate.Term) Need {
	term := x.Output.LedgerTerm
	if err := s.ledger.check(term, end, heard); err != nil {
		x.need, x.Output.Err = NeedStop, err
		return x.need
	}
	if x.Withdrawn {
		x.need = NeedNothing
	} else {
		x.Input.HasLedger, x.Input.LedgerTerm, x.Input.Ledger = true, term, end
		s.step(r, now, x, fx)
	}
	return s.goOn(r, now, x, fx)
}

// Saved goes on after NeedSave. A driver whose save failed must stop the member instead.
func (s *Session) Saved(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	if x.need == NeedSave {
		s.finish(r, now, x, fx)
	}
	return s.goOn(r, now, x, fx)
}

// Attend goes on with what has changed beside the steps. It is called when no step waits. The
// machine gets an input only if the session has one of its own.
func (s *Session) Attend(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	x.need, x.own = NeedNothing, true
	return s.goOn(r, now, x, fx)
}

// step gives the machine the step's input. A loss ends Lead and the lease here, before the disk is
// waited for, because a slow disk must not prolong an office.
func (s *Session) step(r *Rules, now time.Duration, x *Step, fx Effects) {
	s.look(&x.shown)
	x.told = x.told && x.Input.HasLedger
	fx.Before(&x.Input)
	s.Step(r, &x.Input, &x.Output)
	fx.After(x)
	switch {
	case x.Output.NeedLedger:
		x.need = NeedLedger
		if s.Role == memberstate.Leader && x.Output.LedgerTerm > s.Term {
			// The step is to adopt that term, and from the moment when the engine is asked it
			// accepts no append of this one. The engine may be slow to answer, or hang.
			s.losesOffice(x, s.whyLost(r, &x.Input, &x.shown), fx)
		}
	case x.Output.Err != nil:
		x.need = NeedStop
	default:
		if x.Output.Lost {
			s.losesOffice(x, s.whyGone(r, &x.Input, &x.shown), fx)
		}
		x.need = NeedSave
		if !x.Output.Save {
			s.finish(r, now, x, fx)
		}
	}
}

// finish does what had to wait for the disk. A change is shown before any message is sent: no other
// member may learn of a vote while the engine still believes in the office that the vote ended.
func (s *Session) finish(r *Rules, now time.Duration, x *Step, fx Effects) {
	x.need = NeedNothing
	out := &x.Output
	if out.Changed {
		s.show(r, x, fx)
	}
	if out.Replied {
		fx.Reply(&out.Reply)
	}
	if out.To != 0 {
		s.send(now, out, fx)
	}
	if out.Alarm.Number != 0 {
		fx.Arm(out.Alarm)
	}
	if out.Ended {
		fx.Judge(out.Asked, out.Judged)
	}
	if out.Dropped != 0 {
		fx.Drop(out.Dropped)
	}
}

func (s *Session) send(now time.Duration, out *Output, fx Effects) {
	m := &out.Send
	switch m.Kind {
	case rpc.Heartbeat, rpc.VoteRequest:
		s.duty().sent.Sends(&s.Machine, m, now)
	case rpc.TakeLeadership:
		if m.Mark == rpc.Plain {
			s.dropLease(fx) // the target may win from the moment that it receives this (D14)
		}
	default: // nothing is counted from it
	}
	fx.Send(out.To, m)
}

// goOn finishes what is done, and gives the machine the inputs that the session itself has for it,
// until a step has to wait or nothing is left.
func (s *Session) goOn(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	for x.need == NeedNothing {
		if !x.own {
			fx.Done()
			x.own = true
		}
		x.Withdrawn = false // no order stands behind what follows
		own := s.attend(r, now, fx)
		if own == 0 {
			break
		}
		x.Input, x.own = Input{Kind: own, Number: s.Beat()}, true // the beat is for Served
		if l := &s.duty().lead; l.lost {
			x.Input.Inability, l.lost = NotAbleLedger, false
		}
		s.step(r, now, x, fx)
	}
	return x.need
}

// attend brings what runs beside the machine in line with the machine. It returns the input that
// the machine needs next, or 0. A follower has nothing to attend to.
func (s *Session) attend(r *Rules, now time.Duration, fx Effects) (own InputKind) {
	if s.Role == memberstate.Leader {
		s.ledger.known = s.Term
	} else if s.duties == nil && !s.Serving() {
		return 0
	}
	if s.Handover().Phase != NoHandover {
		s.duty().orders.handing = true // whatever ends it, that is settled
	}
	if s.duty().lead.lost {
		return Lapsed
	}
	s.attendLease(r, now, fx)
	if own = s.attendLead(r, now, fx); own != 0 {
		return own
	}
	if own = s.attendHandover(fx); own == 0 {
		s.tidy()
	}
	return own
}

// duty returns the session's duties, and makes them if there are none.
func (s *Session) duty() *Duties {
	if s.duties == nil {
		s.duties = new(Duties)
	}
	return s.duties
}

// tidy drops the duties of a member that has finished with them.
func (s *Session) tidy() {
	if d := s.duties; s.Leader != memberstate.Nobody && s.Role != memberstate.Leader && !s.Serving() &&
		!d.lead.running && !d.lead.quits && d.pause.running == 0 && d.orders == (orders{}) {
		s.duties = nil
	}
}
