// Package simulation runs elections in a hostile world of its own, and tries to
// break them.
//
// The nodes are those that are shipped, a [protocol.Node] each, which a Host drives as
// the simulated process does; the world is virtual. Messages are lost, delayed and sent
// twice, links are cut one way or both, processes crash at any point of a step, are
// paused and restarted, disks are slow and fail, clocks run at rates of their own,
// operators transfer and resign. A node has one group or several, which share its process,
// its disk and its links, and each of which must hold whatever becomes of the others.
// After every event the invariants are checked. One seed decides everything: the same seed gives the same [Result.Digest] anywhere.
//
// [Run] plays one seed, a [Campaign] many. [Record] makes a seed into a [Scenario],
// which says all that was drawn and needs no seed; [Scenario.Shrink] takes away from it
// what is not needed to break an invariant, and [Scenario.Trace] tells everything that
// happens in it. Package picture draws that.
//
// # What is checked
//
//	invariant        file                  source
//	OneLeader        check_leader.go       Raft, election safety; CCF LogInv; fault 4: one incarnation leads a term, ever
//	WonByQuorum      check_leader.go       Raft; xraft#27: a leader has a quorum of durable votes
//	FollowsWinner    check_leader.go       who is followed in a term has won it
//	OneVote          check_vote.go         Raft, figure 2, votedFor; fault 1: one vote a term, over restarts
//	ObserverSilent   check_observer.go     Ongaro's thesis, 4.2.1: who does not vote has no voice
//	TermsRise        check_vote.go         Raft, figure 2, currentTerm
//	SavedBeforeSaid  check_vote.go         robustmq#2039; fault 2: nothing is sent before it is durable
//	LegalStep        check_step.go         memberstate's transitions; a step tells what it changed
//	NeverStuck       check_step.go         who takes part has an alarm
//	OneOffice        check_office.go       an engine serves a term once, and not after it is lost
//	LeaderComplete   check_ledger.go       Raft, leader completeness: a leader's ledger holds what was committed
//	CommittedStays   check_ledger.go       Raft, state machine safety: no node loses a committed entry that it has acknowledged
//	LeaderHeard      check_heard.go        Ongaro's thesis, 6.2: a leader without a quorum steps down
//	OneLease         check_lease.go        no two leases at one instant of true time
//	TransferEnds     check_handover.go     Ongaro's thesis, 3.10; faults 23 and 25: a handover ends in time
//	Converges        check_liveness.go     VOPR: a healed majority has a leader soon, and keeps it
//	ReturnsQuietly   check_liveness.go     Ongaro's thesis, 9.6; hashicorp/raft#411: who comes back raises no term
//	HintsInVain      check_liveness.go     a connection that is said to be lost deposes nobody
//	PreferredLeads   check_liveness.go     a preferred member leads in the end, if one can
package simulation
