// Package memberstate is the state of a member of a group: its role, its term,
// its vote, the members and what a quorum of them
// is, and where the ledger ends. Only the legal transitions between such states
// exist here; any other is a [TransitionError].
//
// The part of the state that must survive a crash is [HardState]. A [Store]
// keeps it; one store serves all groups of a node. [FileStore] is the one on disk,
// made by [CreateFile] and opened by [OpenFile]; [MemStore] is a store for tests
// that can be crashed.
//
// Nothing in this package depends on time, the network or the protocol.
package memberstate
