// Package invariant has what must hold of every group, by name, and what must hold of a single
// step of a member. The simulator, the explorer and the fuzzer of machines share it. The
// explorer's unreduced search and its random walks do not: they are there to find out whether
// the others look at the right things.
package invariant

// Invariant names what must hold. The documentation of package simulation says where each is from.
type Invariant uint8

// The invariants.
const (
	OneLeader Invariant = iota
	WonByQuorum
	FollowsWinner
	OneVote
	ObserverSilent
	TermsRise
	SavedBeforeSaid
	LegalStep
	NeverStuck
	OneOffice
	LeaderComplete
	CommittedStays
	LeaderHeard
	OneLease
	TransferEnds
	Converges
	ReturnsQuietly
	HintsInVain
	PreferredLeads

	// Count is how many there are.
	Count
)

var names = [Count]string{
	"one leader a term", "won by a quorum", "follows a winner", "one vote a term", "observers have no voice",
	"terms rise", "saved before said", "legal step", "never stuck", "one office", "leader has what is committed",
	"committed entries stay", "leader is heard", "one lease", "transfer ends", "converges", "returns quietly", "hints in vain", "preferred leads",
}

// String names the invariant.
func (i Invariant) String() string {
	if i < Count {
		return names[i]
	}
	return "unknown invariant"
}
