// Package nodes plays every interleaving of small worlds of whole nodes, which exchange beats (D15, D16 in
// docs/protocol.md). A node is the shipped protocol.Node, with its links, bonds and cohorts; package explore, whose
// worlds are single groups, runs sessions, and no beats.
//
// A world has two or three nodes, and one or two groups, in which all of them vote. It begins with a leader that has
// just been elected, or one that rests already (settle.go). Then, in any order:
//
//   - any message or beat that was ever sent arrives, for the first time or again; or it never does
//   - a node takes a turn, in which what is due happens: its beat, its alarms
//   - time passes, for all nodes alike: a heartbeat from one moment to the next, of which there are a few. Alarms may
//     ring late, and nothing happens at a node that takes no turn
//   - a driver notices that a lease is over
//   - a group drops out: it ends, and may join again; its member is not to lead, so that it takes part without bonds; a
//     step of it waits for the ledger; its node saves nothing for a while; an operator changes who should lead. How often, is bounded, and so are the restarts of processes. What was saved is kept
//
// What is checked is in watch.go.
//
// # How
//
// A node is full of pointers and maps, so it is no value that could be copied and compared. Instead of changing
// that, a node is kept as the inputs that have led to it, and compared by a digest of all memory that can be reached
// from it, which is found by reflection (digest.go). So no code knows the fields of a node, and none is forgotten
// when it gets another one: a field counts unless digest.go says why it does not.
//
// Nodes meet only by messages, so a step of one depends on its own past alone. It is computed once, by repeating the
// inputs with a fresh node (table.go). A world is then a few numbers and the set of messages that were sent; the
// search (search.go) looks all steps up.
//
// # Reductions
//
// In a network that never forgets, a world can do all that one with the same nodes and fewer messages can; so only
// those with most are kept, and what a node can send without changing it sends at once (saturation.go). A message for a group
// whose step waits arrives after the step, in whose turn it would be handled. The second and third node are alike, so
// only the second one is ever in trouble. Two groups are alike until one drops out, so the first one does so first.
//
// # What it leaves out
//
// Clocks that differ, ranks, pre-vote, groups without leases, observers, handovers, engines that fail, and beats that
// are lost between two turns of one moment. Waits of candidates end with the moment. All other packages of the
// simulation draw these.
package nodes
