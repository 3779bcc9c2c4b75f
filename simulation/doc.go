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
//
// Members whose intervals differ are not drawn: docs/protocol.md says that they are not meant,
// because a follower whose detection time is shorter than its leader's heartbeat never rests.
//
// # What the checks go by
//
// A check that asks the code which it judges notices nothing where that code is wrong. So the
// world counts for itself (check_measure.go): who votes and what a majority is, from its own
// options; how long a detection time and a lease last, from the intervals; who has voted for
// whom, from what became durable; who answered which round, from numbers of its own that travel
// beside the messages; from when a lease counts, from when it saw the heartbeat leave; what is
// committed, from what got into ledgers; that a handover is on, from open orders, paused writes
// and messages. What a message says of a term, a vote or a ledger is held against the disk and
// the engine.
//
// What is read of a member is what is judged: the role, term, vote and leader that its machine
// has, or shows, and what a step asks for. Three things of production are believed besides:
//
//   - The number of an alarm, where a member takes one that rings for one that it has replaced.
//     That it obeys none which it has replaced is seen by the clock: such an alarm rings before
//     the newest one is due.
//   - The rules that a member was given. The world sets them, nothing changes them, and of them
//     the checks read who is preferred and who has pre-votes.
//   - A pre-vote's number, over a restart. A process numbers its rounds from the beginning, so
//     the answer to a pre-vote of the one before may count. No vote is given with it.
package simulation
