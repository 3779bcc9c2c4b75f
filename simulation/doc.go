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
// checks it. Package internal/check says what the checks rely on: on as little as possible of the
// code that they judge.
//
// Members whose intervals differ are not drawn, because they are not supported
// (docs/protocol.md): a follower whose detection time is shorter than its leader's heartbeat
// never comes to rest.
package simulation
