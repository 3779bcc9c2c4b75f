// A member's judgement of an append before its engine accepts it.

package protocol

import (
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

// Hears judges an append of a leader by what the member shows, which no restart takes back. It may be called in any
// goroutine, beside the one that uses the node. So it reads the rules that the group has joined with, of which Self and Voters
// hold as long as the group runs, and not those that the node replaces. News
// means that the member has to take it in first, and is then asked again, with taken. An error
// means that the append must be refused.
func (g *Group) Hears(v *View, term memberstate.Term, leader string, taken bool) (news bool, err error) {
	seat := g.Members.Seat(leader)
	switch {
	case seat == g.Electorate.Rules.Self:
		return false, Say(ErrOtherLeader, "Heard is for the appends of others: %q is this member itself, in group %q", leader, g.name)
	case !g.Electorate.Rules.Voters.Has(seat):
		return false, Say(ErrOtherLeader, "an append of term %d is by %q, which is no voter of group %q", term, leader, g.name)
	case v.Stopped:
		return false, Say(ErrStopped, "group %q has stopped", g.name)
	}
	switch heard := v.Hears(term, seat); {
	case heard == HeardLeader:
		return false, nil
	case heard == HeardOther:
		return false, fmt.Errorf("%w: an append of term %d by %q, but %q leads it", ErrOtherLeader, term, leader, g.Members.ID(v.Leader))
	case heard == HeardNews && !taken: // once taken in, it is still news only if the term is impossible, or was lost again at once
		return true, nil
	}
	return false, fmt.Errorf("%w: an append of term %d by %q while in term %d", ErrStaleTerm, term, leader, v.Term)
}
