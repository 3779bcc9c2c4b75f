// Why a leader leads no more, as a candidate sees it.

package protocol

import voting "github.com/hustings/hustings/elector/protocol"

// Departure is why a candidate takes a leader for gone, in the words of elections by votes.
type Departure = voting.Departure

// The reasons for which a candidate leaves its own office.
const (
	resigned  = voting.DepartedResigned // or Lead has returned, or it retires
	ranOut    = voting.DepartedLeaseLapsed
	takenAway = voting.DepartedOutvoted // another term has begun
	notAble   = voting.DepartedNotAble
)

// whyGone is why the leader of the view is gone, if a record that was read says so.
func (s *session) whyGone(r *Record) Departure {
	switch {
	case r.Term != s.view.Term:
		return voting.DepartedOutvoted
	case r.Released:
		return voting.DepartedHandedOver
	}
	return voting.DepartedSilent // its lease has expired
}
