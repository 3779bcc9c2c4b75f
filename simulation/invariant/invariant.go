// Package invariant names what must hold in every group: the simulator and the explorer check
// it, each in its own way, and both say what was violated in these words.
//
//	invariant        checked in (simulation/...)  source
//	OneLeader        check_leader.go              Raft, election safety; CCF LogInv; fault 4: one incarnation leads a term, ever
//	WonByQuorum      check_leader.go              Raft; xraft#27: a leader has a quorum of durable votes
//	FollowsWinner    check_leader.go              a leader that a member follows has won that term
//	OneVote          check_vote.go                Raft, figure 2, votedFor; fault 1: one vote a term, over restarts
//	ObserverSilent   check_observer.go            Ongaro's thesis, 4.2.1: a member without a vote has no voice
//	TermsRise        check_vote.go                Raft, figure 2, currentTerm
//	SavedBeforeSaid  check_vote.go                robustmq#2039; fault 2: nothing is sent before it is durable
//	LegalStep        internal/check/step.go       memberstate's transitions; a step reports all that it changed
//	NeverStuck       internal/check/step.go       a member that takes part has an alarm
//	OneOffice        check_office.go              an engine serves a term once, and not after it is lost
//	LeaderComplete   check_ledger.go              Raft, leader completeness: a leader's ledger holds what was committed
//	CommittedStays   check_ledger.go              Raft, state machine safety: no node loses a committed entry that it has acknowledged
//	LeaderHeard      check_heard.go               Ongaro's thesis, 6.2: a leader without a quorum steps down
//	OneLease         check_lease.go               no two leases at one instant of true time
//	TransferEnds     check_handover.go            Ongaro's thesis, 3.10; faults 23 and 25: a handover ends in time
//	Converges        check_liveness.go            VOPR: a healed majority has a leader soon, and keeps it
//	ReturnsQuietly   check_liveness.go            Ongaro's thesis, 9.6; hashicorp/raft#411: a member that returns raises no term
//	HintsInVain      check_liveness.go            a false hint that a connection is lost deposes nobody
//	PreferredLeads   check_liveness.go            a preferred member leads in the end, if one can
package invariant

// Invariant names something that must hold.
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

// All lists all there are.
func All() []Invariant {
	all := make([]Invariant, Count)
	for i := range all {
		all[i] = Invariant(i)
	}
	return all
}
