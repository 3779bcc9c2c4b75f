// Package simulation runs elections in a hostile virtual world, and tries to
// break them.
//
// The nodes are those that ship: the simulated process drives a [protocol.Node] as a Host does.
// Everything around them is virtual. Messages are lost, delayed and duplicated,
// links are cut one way or both, processes crash at any point of a step, pause
// and restart, disks are slow and fail, clocks run at different rates,
// operators transfer and resign. A node has one group or several, which share its process,
// its disk and its links; each must be correct whatever happens to the others.
// After every event all invariants are checked. One seed decides everything: the same seed
// gives the same [Result.Digest] on any machine.
//
// [Run] plays one seed, a [Campaign] many. [Record] makes a seed into a [Scenario],
// which lists everything that was drawn and needs no seed; [Scenario.Shrink] removes
// what is not needed to break an invariant, and [Scenario.Trace] lists everything that
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
//
// Members whose intervals differ are not drawn, because they are not supported
// (docs/protocol.md): a follower whose detection time is shorter than its leader's heartbeat
// never comes to rest.
//
// # What the checks rely on
//
// A check that asks the code under test notices nothing where that code is wrong. So the
// world keeps its own account (check_measure.go):
//
//   - who votes, and what a majority is: from its own options
//   - how long a detection time and a lease last: from the intervals
//   - who has voted for whom: from what became durable
//   - who answered which round: from numbers of its own that travel beside the messages
//   - since when a lease counts: from when the heartbeat left
//   - what is committed: from what reached the ledgers
//   - whether a handover is under way: from open orders, paused writes and messages
//
// What a message says of a term, a vote or a ledger is compared with the disk and
// the engine.
//
// The checks read from a member only what they judge: the role, term, vote and leader that its machine
// has, or shows, and what a step asks for. Besides, they believe production code in three things:
//
//   - The number of an alarm, when a member ignores one as replaced. That it obeys no replaced
//     alarm is checked by the clock: such an alarm rings before the newest one is due.
//   - The rules that a member was given. The world sets them and nothing changes them; the
//     checks read who is preferred and who has pre-votes.
//   - A pre-vote's number, over a restart. A process numbers its rounds from the beginning, so
//     the answer to a pre-vote of the previous process may count. It gives no vote.
package simulation
