// Package invariant names what must hold in every group: the simulator and the explorer check
// it, each in its own way, and both say what was violated in these words.
//
//	invariant        checked in (simulation/...)  source
//	OneLeader        internal/check/leader.go     Raft, election safety; CCF LogInv; fault 4: one incarnation leads a term, ever
//	WonByQuorum      internal/check/leader.go     Raft; xraft#27: a leader has a quorum of durable votes
//	FollowsWinner    internal/check/leader.go     a leader that a member follows has won that term
//	OneVote          internal/check/vote.go       Raft, figure 2, votedFor; fault 1: one vote a term, over restarts
//	ObserverSilent   internal/check/vote.go       Ongaro's thesis, 4.2.1: a member without a vote has no voice
//	TermsRise        internal/check/vote.go       Raft, figure 2, currentTerm
//	SavedBeforeSaid  internal/check/vote.go       robustmq#2039; fault 2: nothing is sent before it is durable
//	LegalStep        internal/check/step.go       memberstate's transitions; a step reports all that it changed
//	NeverStuck       internal/check/step.go       something makes a node look again at a member that takes part
//	OneOffice        internal/check/office.go     an engine serves a term once, and not after it is lost
//	LeaderComplete   internal/check/ledger.go     Raft, leader completeness: a leader's ledger holds what was committed
//	CommittedStays   internal/check/ledger.go     Raft, state machine safety: no node loses a committed entry that it has acknowledged
//	LeaderHeard      internal/check/heartbeat.go  Ongaro's thesis, 6.2: a leader without a quorum steps down, and no other
//	OneLease         internal/check/lease.go      no two leases at one instant of true time
//	TransferEnds     internal/check/handover.go   Ongaro's thesis, 3.10; faults 23 and 25: a handover ends in time
//	Converges        liveness.go                  VOPR: a healed majority has a leader soon, and keeps it
//	ReturnsQuietly   liveness.go                  Ongaro's thesis, 9.6; hashicorp/raft#411: a member that returns raises no term
//	HintsInVain      liveness.go                  a false hint that a connection is lost deposes nobody
//	ChangesQuietly   liveness.go                  intervals that are changed member by member end no term
//	PreferredLeads   liveness.go                  a preferred member leads in the end, if one can
//	AbleLeads        liveness.go                  hashicorp/raft#503: a leader that cannot work is replaced by one that can
//	LeadsAllTheSame  liveness.go                  hashicorp/raft#503: if none can work, one leads on, and is not replaced for that
//	BeatSound        internal/check/node_beat.go  a beat between nodes is a heartbeat only where its sender led
//	AnswerSound      internal/check/credit.go     an answer to a beat counts for a member only if it followed when it gave it
//	CreditBacked     internal/check/credit.go     a member whose answers count gives no vote before the lease is over that they promise
//	MusterBounded    internal/check/campaign.go   tikv#19070: when a node dies, another one begins only so many campaigns at a time
//	NotToTheLeaving  internal/check/standing.go   cockroach#55624, redpanda#23973: nobody hands over to a node that drains, while another voter serves
//	DrainEnds        liveness_drain.go            a node that drains hands over all that others can take, and keeps the rest
//	ServiceGap       liveness_drain.go            cockroach#65842: a group that is handed over is without a leader for two messages and a save, and no other group is
//	PaceHolds        internal/check/standing.go   a node that drains has no more handovers under way than it was told
//	HoldsStill       internal/check/standing.go   SOFARegistry's protection mode: a node that is protected hands over nothing of its own accord
//	GetsEven         liveness_balance.go          cockroach#66103: nodes that balance lead about as many groups each, and then none moves
//	OneTable         liveness_table.go            SOFARegistry's table with its epoch: two nodes show different leaders only while a change is on its way
//	GivenBack        liveness_quiet.go, internal/check/step.go  a node that is quiet holds no room, place or slot for work that is over
//	InTime           liveness_late.go             a leader that is cut off is missed after one detection time, and replaced soon
//	NoFlapping       internal/check/ability.go    a member gives up offices for want of ability ever more rarely
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
	ChangesQuietly
	PreferredLeads
	AbleLeads
	LeadsAllTheSame
	NoFlapping
	BeatSound
	NotToTheLeaving
	DrainEnds
	ServiceGap
	PaceHolds
	HoldsStill
	GetsEven
	AnswerSound
	CreditBacked
	MusterBounded
	OneTable
	GivenBack
	InTime

	// Count is how many there are.
	Count
)

var names = [Count]string{
	"one leader a term", "won by a quorum", "follows a winner", "one vote a term", "observers have no voice",
	"terms rise", "saved before said", "legal step", "never stuck", "one office", "leader has what is committed",
	"committed entries stay", "leader is heard", "one lease", "transfer ends", "converges", "returns quietly", "hints in vain", "changes quietly", "preferred leads", "able leads",
	"leads all the same", "does not flap", "a beat is a heartbeat", "not to the leaving", "drain ends", "no gap", "keeps its pace", "holds still", "gets even",
	"an answer is a success", "credit is backed",
	"campaigns wait", "one table", "given back", "in time",
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
