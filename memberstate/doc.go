// Package memberstate has the state of a member of a group (role, term, vote and
// leader), the list of members and its quorums, and positions in a ledger. A state
// changes by legal transitions only; an illegal one is a [TransitionError].
//
// The part of the state that must survive a crash is [HardState]. A [Store]
// keeps it; one store serves all groups of a node. [FileStore] keeps it on disk;
// [CreateFile] makes one and [OpenFile] opens it. [MemStore] is a store for tests
// that can be crashed.
//
// Nothing in this package knows about time, the network or the protocol.
package memberstate
