// Why an input was ignored. Everything that is ignored is counted.

package protocol

// Drop is a reason for which a message or an alarm was ignored.
type Drop uint8

const (
	// DropUnknownGroup: no such group runs at this node.
	DropUnknownGroup Drop = iota + 1
	// DropMisaddressed: the message is for another node.
	DropMisaddressed
	// DropFromSelf: the message claims to come from this very node.
	DropFromSelf
	// DropOtherVoters: the sender counts other voters than this member.
	DropOtherVoters
	// DropMalformed: a field has an impossible value, or an append that the engine has reported
	// is stale.
	DropMalformed
	// DropImpossibleTerm: the term is so far above the member's own that no group can have
	// reached it by elections.
	DropImpossibleTerm
	// DropNotAVoter: an answer that only a voter can give came from another node.
	DropNotAVoter
	// DropNotForObservers: an observer received a request that is for voters.
	DropNotForObservers
	// DropStaleAnswer: the answer is to a request that is not open any more.
	DropStaleAnswer
	// DropStaleAlarm: the alarm has been replaced.
	DropStaleAlarm
	// DropOlderProcess: the sender is an earlier process of its node than the one that is known.
	DropOlderProcess
	// DropQueueFull: more arrived than could be handled, or no group ran.
	DropQueueFull

	// DropReasons is one more than the largest reason.
	DropReasons = iota + 1
)

var dropNames = [DropReasons]string{
	DropUnknownGroup:    "unknown group",
	DropMisaddressed:    "misaddressed",
	DropFromSelf:        "from self",
	DropOtherVoters:     "other voters",
	DropMalformed:       "malformed",
	DropImpossibleTerm:  "impossible term",
	DropNotAVoter:       "not a voter",
	DropNotForObservers: "not for observers",
	DropStaleAnswer:     "stale answer",
	DropStaleAlarm:      "stale alarm",
	DropOlderProcess:    "older process",
	DropQueueFull:       "queue full",
}

// String names the reason for logs and metrics.
func (d Drop) String() string {
	return named(dropNames[:], d, "unknown reason")
}
