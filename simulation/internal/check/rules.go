// Rules that simulator and explorer share: each is a function of what a world knows at one moment.
//
// The two worlds find out by themselves who has voted for whom, who has led, and what an engine does. What must hold then is
// written here once. What they remember differs too much to be shared: the simulator knows incarnations, a window of terms and true
// times, and the explorer sets of messages and ticks.

package check

import (
	"fmt"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Breach is a broken invariant; the zero Breach is none.
type Breach struct {
	Broken invariant.Invariant
	What   string
}

// None says that nothing is broken.
func (b *Breach) None() bool { return b.What == "" }

func breach(i invariant.Invariant, format string, args ...any) Breach {
	return Breach{i, fmt.Sprintf(format, args...)}
}

// Elected says whether that many votes are more than half of all, counted anew because the machine's own count may be wrong.
func Elected(votes, voters int) bool { return votes > voters/2 }

// FollowsWinner says whether the leader that a member knows has led the term.
func FollowsWinner(leader memberstate.Seat, led memberstate.Set) bool {
	return leader == memberstate.Nobody || led.Has(leader)
}

// Overlap says whether two leases that end then are held at one moment.
func Overlap[T ~int64](one, other, now T) bool { return one > now && other > now }

// Office is what a member and its engine's Lead are at one moment.
type Office struct {
	Term   memberstate.Term
	Lead   memberstate.Term // the newest that Lead was called for, by this process; 0: none
	Runs   bool             // that Lead has not returned
	Ended  bool             // its context has ended
	Serves bool             // the engine may serve: the member leads and, with leases, holds one
}

// Begins checks an office when Lead is called for a term.
func (o *Office) Begins(term memberstate.Term) (b Breach) {
	switch {
	case o.Runs:
		return breach(invariant.OneOffice, "its engine's Lead of term %d begins before that of term %d has returned", term, o.Lead)
	case o.Lead == term:
		return breach(invariant.OneOffice, "its engine's Lead of term %d begins again", term)
	case o.Term != term || !o.Serves:
		return breach(invariant.OneOffice, "its engine's Lead of term %d begins although the engine may not serve", term)
	}
	return b
}

// Ends checks an office when Lead's context ends.
func (o *Office) Ends(term memberstate.Term) (b Breach) {
	if !o.Runs || o.Lead != term {
		return breach(invariant.OneOffice, "the context of its engine's Lead of term %d ends, but this Lead does not run", term)
	}
	return b
}

// Asks checks an office when a member that leads nothing asks for votes.
func (o *Office) Asks() (b Breach) {
	if o.Runs {
		return breach(invariant.OneOffice, "it asks for votes before its engine's Lead of term %d has returned", o.Lead)
	}
	return b
}

// Goes checks an office between two steps.
func (o *Office) Goes() (b Breach) {
	switch {
	case o.Runs && !o.Ended && (!o.Serves || o.Lead != o.Term):
		return breach(invariant.OneOffice, "its engine's Lead of term %d continues although the engine may not serve", o.Lead)
	case o.Serves && !o.Runs && o.Lead != o.Term:
		return breach(invariant.NeverStuck, "it may serve in term %d, but its engine's Lead was not begun", o.Term)
	}
	return b
}
