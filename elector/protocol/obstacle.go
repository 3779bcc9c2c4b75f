// Why a handover failed: the obstacle for each voter that could have taken over. The machine only
// needs to know that it could not; this is for people.

package protocol

import (
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Hindrance is what kept a voter from taking over.
type Hindrance uint8

const (
	// HinderedSilent: it has answered neither the last heartbeats nor the question whether it
	// could take over.
	HinderedSilent Hindrance = iota + 1
	// HinderedUnanswered: it lives, but has not answered the question.
	HinderedUnanswered
	// HinderedBehind: its ledger did not reach as far as the leader's.
	HinderedBehind
	// HinderedNotFollowing: it does not follow this leader, or its engine still serves
	// a term that it led before.
	HinderedNotFollowing
	// HinderedNotPaused: it could take over, but the leader's engine did not pause its writes in
	// time.
	HinderedNotPaused
	// HinderedNotElected: it was told to stand, and did not win in time.
	HinderedNotElected
	// HinderedNotAble: it is not able to lead.
	HinderedNotAble
	// HinderedNotAsked: the time was over before it was asked.
	HinderedNotAsked
)

// Obstacle is what kept a voter from taking over.
type Obstacle struct {
	Voter     string
	Hindrance Hindrance
	// Ledger is where the voter's ledger ended, and Goal the end that it had to reach.
	Ledger, Goal memberstate.Position
	// Lost is how long ago the voter's process was reported gone; 0: it was not.
	Lost time.Duration
	// Cause is why the engine could not pause its writes; empty: it took too long.
	Cause string
}

// String is a sentence for people.
func (o Obstacle) String() string {
	switch o.Hindrance {
	case HinderedSilent:
		if o.Lost > 0 {
			return fmt.Sprintf("%s is dead or cut off: its connection broke %v ago", o.Voter, o.Lost.Round(time.Millisecond))
		}
		return o.Voter + " is silent"
	case HinderedUnanswered:
		return o.Voter + " answers heartbeats, but not whether it could take over"
	case HinderedBehind:
		behind := "it ends in an older term"
		if o.Ledger.Term == o.Goal.Term {
			behind = fmt.Sprintf("%d entries are missing", o.Goal.Index-o.Ledger.Index)
		}
		return fmt.Sprintf("%s is behind: its ledger ends at %v, and has to reach %v (%s)", o.Voter, o.Ledger, o.Goal, behind)
	case HinderedNotFollowing:
		return o.Voter + " refused: it does not follow this leader, or still serves an older term"
	case HinderedNotPaused:
		if o.Cause != "" {
			return fmt.Sprintf("%s could take over, but writes here could not be paused: %s", o.Voter, o.Cause)
		}
		return o.Voter + " could take over, but writes here were not paused in time"
	case HinderedNotElected:
		return o.Voter + " was told to stand, and was not elected in time"
	case HinderedNotAble:
		return o.Voter + " is not able to lead"
	case HinderedNotAsked:
		return o.Voter + " was not asked in time"
	}
	return o.Voter + " is hindered for an unknown reason"
}

// TransferError says why the leadership was not transferred: the obstacle for each voter that was
// considered. It is also ErrTransferFailed.
type TransferError struct {
	Group     string
	Term      memberstate.Term
	Obstacles []Obstacle
}

func (e *TransferError) Error() string {
	return fmt.Sprintf("%v: %s", ErrTransferFailed, e.Reasons())
}

func (e *TransferError) Unwrap() error { return ErrTransferFailed }

// Reasons are all obstacles, for people.
func (e *TransferError) Reasons() string {
	var list []string
	for _, o := range e.Obstacles {
		list = append(list, o.String())
	}
	return strings.Join(list, "; ")
}

// attempt is a handover under way, and what was learned in it.
type attempt struct {
	reason   HandoverReason
	asked    memberstate.Set  // whether they could take over
	willing  memberstate.Seat // the voter that could
	told     bool             // and was told to stand
	cause    string           // why the engine could not pause its writes
	answered map[memberstate.Seat]Obstacle
	// catchingUp are voters whose ledgers are behind, and have grown since they said so before, if they did.
	catchingUp memberstate.Set
}

// followHandover notes what a step shows of a handover.
func (n *Node) followHandover(g *Group, in *Input) {
	m := &g.Machine
	x := n.transientOf(g)
	if x.attempt == nil {
		x.attempt = &attempt{answered: make(map[memberstate.Seat]Obstacle)}
	}
	a := x.attempt
	h := m.Handover()
	a.reason = h.Reason
	switch h.Phase {
	case Probing:
		a.asked = a.asked.With(h.Target)
	case Pausing:
		a.willing = h.Target
	case Taking:
		a.told, a.willing = true, h.Target // a leader of which something hangs has not asked it before
	case NoHandover: // never here
	}
	q := &in.Message
	if in.Kind != Receive || q.Kind != rpc.TakeLeadershipResponse || q.Asked != m.Term || q.Mark != rpc.PreVote {
		return
	}
	a.catchingUp = a.catchingUp.Without(q.From)
	switch q.Result {
	case rpc.LedgerBehind:
		last := a.answered[q.From]
		catchesUp := last.Hindrance != HinderedBehind || last.Ledger.Compare(q.Ledger) < 0
		if catchesUp {
			a.catchingUp = a.catchingUp.With(q.From)
		}
		a.answered[q.From] = Obstacle{Hindrance: HinderedBehind, Ledger: q.Ledger, Goal: h.Goal}
	case rpc.NotFollowing:
		a.answered[q.From] = Obstacle{Hindrance: HinderedNotFollowing}
	case rpc.NotAble:
		a.answered[q.From] = Obstacle{Hindrance: HinderedNotAble}
	default: // it could take over
	}
}

// whyNotHandedOver says why a finished handover has failed, if it has: this member still leads, or
// it resigned and no other member took over.
func (n *Node) whyNotHandedOver(g *Group) error {
	if g.transient() == nil || g.transient().attempt == nil {
		return nil
	}
	a := g.transient().attempt
	g.transient().attempt = nil
	if g.Role != memberstate.Leader && g.view().Departure != DepartedResigned {
		return nil
	}
	failed := &TransferError{Group: g.name, Term: g.Term, Obstacles: n.obstacles(g, a)}
	n.edge.NotTransferred(g, failed, a.reason == ToPreferred || n.draining.on || n.balancing.moving > 0)
	return failed
}

// obstacles are those of all voters that were considered, sorted by their ids, as seats are.
func (n *Node) obstacles(g *Group, a *attempt) (list []Obstacle) {
	m, r := &g.Machine, g.Rules
	alive := m.Alive()
	considered := a.asked
	if a.reason == ToAnyone || a.reason == ToAble {
		considered = r.others()
	}
	for seat := range considered.Seats() {
		o, answered := a.answered[seat]
		switch {
		case seat == a.willing && a.told:
			o = Obstacle{Hindrance: HinderedNotElected}
		case seat == a.willing:
			o = Obstacle{Hindrance: HinderedNotPaused, Cause: a.cause}
		case answered:
		case !alive.Has(seat):
			o = Obstacle{Hindrance: HinderedSilent}
		case a.asked.Has(seat):
			o = Obstacle{Hindrance: HinderedUnanswered}
		default:
			o = Obstacle{Hindrance: HinderedNotAsked}
		}
		o.Voter = g.Members.ID(seat)
		if lost, was := n.lost[o.Voter]; was {
			o.Lost = n.now - lost
		}
		list = append(list, o)
	}
	return list
}
