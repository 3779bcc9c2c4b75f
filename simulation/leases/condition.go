// What must come about in a campaign, or the faults were too tame to show anything.

package leases

// Condition is something that an election by a lease is there to cope with.
type Condition uint8

// The conditions.
const (
	// LeaseRanOut: a lease ran out under a leader.
	LeaseRanOut Condition = iota
	// LeaseTaken: a renewal told that the lease was another's, or forced.
	LeaseTaken
	// Refused: a claim came too late, for another was faster or the holder renewed.
	Refused
	// WonUnknown: a claim won, and its sender was not told; it found itself the holder.
	WonUnknown
	// WonTooLate: the answer to a claim that won came when the lease had run out.
	WonTooLate
	// LeftBefore: one that had found the lease free left before it claimed it.
	LeftBefore
	// WonLeaving: a claim won when its sender was about to leave.
	WonLeaving
	// AnsweredTooLate: a renewal was answered when the lease had run out.
	AnsweredTooLate
	// Unanswered: a renewal was not answered, and is repeated sooner.
	Unanswered
	// LeftOut: a renewal left leases out whose records were locked.
	LeftOut
	// ReleasedLater: a release worked after one that had not.
	ReleasedLater
	// NotReleased: a lease could not be released until it had run out.
	NotReleased
	// HeirCame: the candidate leads that was named to be next.
	HeirCame
	// HeirPassedOver: another one leads, for the heir did not come.
	HeirPassedOver
	// Distrusted: what was read was older than what was known.
	Distrusted
	// Fenced: a process woke up in an office that was over, and would have acted.
	Fenced

	conditions
)

var conditionNames = [conditions]string{
	"lease ran out", "taken away", "claim refused", "won without knowing", "won too late", "left before claiming", "won while leaving", "answered too late",
	"renewal not answered", "left out of a renewal", "released later", "not released",
	"heir came", "heir passed over", "old copy distrusted", "woke up fenced",
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

// took counts how an office came about.
func (w *world) took(n *candidate, of int) {
	w.elections++
	w.tell("%s takes office of %s in term %d", n.id, names[of], n.seats[of].term)
	switch n.seats[of].read.Heir {
	case "":
	case n.self():
		w.met(HeirCame)
	default:
		w.met(HeirPassedOver)
	}
}
