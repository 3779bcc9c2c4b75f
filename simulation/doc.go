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
// happens in it, as a [trace.Trace]. Package picture draws that.
//
// # What is checked
//
// Package invariant names what must hold, with the source of each invariant and the file that
// checks it.
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
