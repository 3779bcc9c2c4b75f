// The conditions that a campaign must meet. If it does not, its faults were too mild to show
// anything.

package leases

// Condition is a situation that an election by a lease must cope with.
type Condition uint8

// The conditions.
const (
	// LeaseRanOut: a lease ran out under a leader.
	LeaseRanOut Condition = iota
	// LeaseTaken: a renewal found that the lease had another holder, or was forced.
	LeaseTaken
	// Refused: a claim came too late, because another one was faster or the holder renewed.
	Refused
	// WonUnknown: a claim won, but its answer was lost; its sender later found itself the holder.
	WonUnknown
	// WonTooLate: a claim won, but its answer came when the lease had run out.
	WonTooLate
	// LeftBefore: a candidate found the lease free, and left before it claimed it.
	LeftBefore
	// WonLeaving: a claim won while its sender was leaving.
	WonLeaving
	// AnsweredTooLate: a renewal was answered when the lease had run out.
	AnsweredTooLate
	// Unanswered: a renewal was not answered, and is repeated sooner.
	Unanswered
	// LeftOut: a renewal left out leases whose records were locked.
	LeftOut
	// ReleasedLater: a release succeeded after one that had failed.
	ReleasedLater
	// NotReleased: a lease could not be released before it ran out.
	NotReleased
	// HeirCame: the named heir leads.
	HeirCame
	// HeirPassedOver: another candidate leads, because the heir did not come.
	HeirPassedOver
	// Distrusted: a read returned something older than what was known.
	Distrusted
	// Fenced: a process woke up after its lease had ended, and only the fencing term stops it.
	Fenced
	// GaveUp: a leader that was not able to lead gave up its lease.
	GaveUp
	// GaveUpAgain: and did so again.
	GaveUpAgain
	// LedLast: a candidate that was not able to lead took a lease that nobody else wanted.
	LedLast
	// CutTwice: a candidate was cut off twice within one claim.
	CutTwice
	// StillTwice: it stood still twice before its service was judged, or had said how it is.
	StillTwice
	// FailedTwice: a release succeeded after two that had failed.
	FailedTwice
	// LateTwice: two claims in a row were answered too late.
	LateTwice

	conditions
)

var conditionNames = [conditions]string{
	"lease ran out", "taken away", "claim refused", "won without knowing", "won too late", "left before claiming", "won while leaving", "answered too late",
	"renewal not answered", "left out of a renewal", "released later", "not released",
	"heir came", "heir passed over", "old copy distrusted", "woke up fenced",
	"gave up the lease", "gave it up again", "led as the last choice",
	"cut twice in a claim", "still twice in a judgement", "failed twice to release", "late twice to claim",
}

// String names the condition.
func (c Condition) String() string {
	if c < conditions {
		return conditionNames[c]
	}
	return "unknown condition"
}

// Conditions lists all there are.
func Conditions() []Condition { return below[Condition](conditions) }

// met counts a condition.
func (w *world) met(c Condition) { w.conditions[c]++ }

// took counts how an office was won.
func (w *world) took(n *candidate, of int) {
	w.elections++
	if n.seats[of].inability != 0 {
		w.met(LedLast)
	}
	w.tell("%s takes office of %s in term %d", n.id, names[of], n.seats[of].term)
	switch n.seats[of].read.Heir {
	case "":
	case n.self():
		w.met(HeirCame)
	default:
		w.met(HeirPassedOver)
	}
}
