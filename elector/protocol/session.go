// A session: a machine, and everything that its driver has to remember.
//
// A Machine decides one step, and says what that step asks for. To drive it, one must
// also know when a round was sent, until when the lease lasts, whether a Lead of the
// engine still runs, whether writes are paused, and who ordered a handover. A Session
// knows all of that, so that whoever drives one decides nothing. Like the machine it is
// a value: the time is handed in, and what it asks for goes to its Effects.
//
// What a session is told:
//
//	Begin, Ledger, Saved   an input, and then what its step waits for; one at a time
//	LeaseOver              the lease has run out by the driver's clock
//	LeadReturned           the engine's Lead has returned
//	PauseEnded             the engine has paused its writes, or could not
//	Orders                 how many orders to hand over stand
//	Quit                   this member is to resign, and nobody will withdraw that
//	Attend                 go on with what the five before have changed
//
// What it asks for is listed in Effects. The session's own follow-ups, such as telling the
// machine that no Lead runs any more, need no driver: Begin, Ledger, Saved and Attend
// return when there is nothing left to do, or when a step has to wait.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Session is one group at one member, with what its driver has to remember. There may be
// very many that only follow, so what these have no need of is apart.
type Session struct {
	Machine

	ledger    ledgerLog
	duties    *Duties          // nil: there are none
	last      memberstate.Seat // the leader that was last taken for gone
	departure Departure        // and why
}

// Duties are what a member has to remember that leads, asks for votes, hands over, or has
// not quite done with that. They are copied by assignment and compared with ==.
type Duties struct {
	sent   SentTimes // when rounds were sent
	lease  lease
	lead   lead
	pause  pause
	orders orders
}

// Effects are where a session takes effect. Within a step they are called in the order
// that they are listed in here; what runs beside the steps comes after.
type Effects interface {
	// Before and After are told of each step of the machine: what it is given, and what it
	// has made of that. Nothing has taken effect yet.
	Before(in *Input)
	After(x *Step)
	// Hold says until when the lease lasts, zero when it is held no more. The driver ends
	// Lead at that time, whatever else it has to do, and then says LeaseOver. At a loss it
	// is called before the disk is waited for.
	Hold(until time.Duration)
	// EndLead ends the context of the Lead that runs. The driver says LeadReturned when it
	// has returned. At a loss it is called before the disk is waited for.
	EndLead(term memberstate.Term)
	// Show makes known what the member is. All of it is durable, so that a restart takes
	// nothing of it back; but a loss is shown before the disk is waited for.
	Show(v View)
	// Reply answers the message that was the input.
	Reply(m *Message)
	// Send sends a message to each of a set of members.
	Send(to memberstate.Set, m *Message)
	// Arm replaces the member's alarm.
	Arm(a Alarm)
	// Judge counts a round of votes of this member's that has ended.
	Judge(asked rpc.Mark, judged Judgement)
	// Drop counts an input that was ignored.
	Drop(why Drop)
	// Done says that the input has been worked off. What follows is the session's own.
	Done()

	// Lead calls the engine's Lead for a term. There is none running. An engine without
	// one is one whose Lead returns when its context ends, and not before.
	Lead(term memberstate.Term)
	// Pause has the engine pause its writes, for a handover. The driver says PauseEnded
	// with this number; at once if there is nothing to pause.
	Pause(term memberstate.Term, number uint32)
	// Resume ends that handover: writes go on if the term is still led.
	Resume()
	// Settle says that no handover is under way: the orders that the machine was given
	// have been carried out, or could not be.
	Settle()
}

// Step is an input on its way through a session. It may have to wait, for the end of the
// ledger and then for the disk; until it is done the session must not be given another
// input. It is a value.
type Step struct {
	Input  Input
	Output Output
	// Withdrawn says that whoever ordered the input has withdrawn it. A step that still
	// waits for the ledger has changed nothing yet, and then it changes nothing.
	Withdrawn bool

	need  Need
	own   bool // it is the session's own: nobody waits for it
	shown View // what was shown before it
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

// NewSession is a session that starts with what its store has kept, beside a ledger that
// ended here when it was asked with the promise of a term.
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

// Ledger goes on after NeedLedger: the ledger ended there when the promise was made. Heard
// is the largest term whose leader the engine has heard of. A ledger that breaks its
// contract stops the member.
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

// Saved goes on after NeedSave. Whoever could not save must stop instead.
func (s *Session) Saved(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	if x.need == NeedSave {
		s.finish(r, now, x, fx)
	}
	return s.goOn(r, now, x, fx)
}

// Attend goes on with what has changed beside the steps. It is called when no step waits,
// and gives the machine nothing unless the session itself has something to tell it.
func (s *Session) Attend(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	x.need, x.own = NeedNothing, true
	return s.goOn(r, now, x, fx)
}

// step has the machine take the step's input. What a loss ends is ended here, before the
// disk is waited for: a slow disk must not prolong an office.
func (s *Session) step(r *Rules, now time.Duration, x *Step, fx Effects) {
	s.look(&x.shown)
	fx.Before(&x.Input)
	s.Step(r, &x.Input, &x.Output)
	fx.After(x)
	switch {
	case x.Output.NeedLedger:
		x.need = NeedLedger
	case x.Output.Err != nil:
		x.need = NeedStop
	default:
		if x.Output.Lost {
			s.endOffice(fx)
			s.showLoss(r, x, fx)
		}
		x.need = NeedSave
		if !x.Output.Save {
			s.finish(r, now, x, fx)
		}
	}
}

// finish does what had to wait for the disk. What changed is shown before anything is
// sent, so that nobody hears of a vote while the engine still believes in the office that
// it ended.
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
			s.dropLease(fx) // the target may win from the moment that it hears of this (D14)
		}
	default: // nothing is counted from it
	}
	fx.Send(out.To, m)
}

// goOn finishes what is done, and has the machine take what the session itself has for it,
// until a step has to wait or nothing is left.
func (s *Session) goOn(r *Rules, now time.Duration, x *Step, fx Effects) Need {
	for x.need == NeedNothing {
		if !x.own {
			fx.Done()
			x.own, x.Withdrawn = true, false // what follows was ordered by nobody
		}
		own := s.attend(r, now, fx)
		if own == 0 {
			break
		}
		x.Input, x.own = Input{Kind: own, Number: s.Beat()}, true // the beat is for Served
		s.step(r, now, x, fx)
	}
	return x.need
}

// attend brings what runs beside the machine in line with what the machine is now. If the
// machine is to be told something, it returns that, and else 0. A follower has nothing to
// attend to.
func (s *Session) attend(r *Rules, now time.Duration, fx Effects) (own InputKind) {
	if s.Role == memberstate.Leader {
		s.ledger.known = s.Term
	} else if s.duties == nil && !s.Serving() {
		return 0
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

// duty are the session's duties, made when there are first any.
func (s *Session) duty() *Duties {
	if s.duties == nil {
		s.duties = new(Duties)
	}
	return s.duties
}

// tidy lets go of the duties of a member that has done with them.
func (s *Session) tidy() {
	if d := s.duties; s.Leader != memberstate.Nobody && s.Role != memberstate.Leader && !s.Serving() &&
		!d.lead.running && !d.lead.quits && !d.pause.running && d.orders == (orders{}) {
		s.duties = nil
	}
}
