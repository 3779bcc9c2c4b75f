// Package memberstate says who a member of a group is: which role it has, in
// which term, whom it has voted for, who sits in the group and what a quorum
// is, and where the ledger ends. Only the legal transitions between such states
// exist here; anything else is a [TransitionError].
//
// The part of the state that must survive a crash is [HardState]. A [Store]
// keeps it; one store serves all groups of a node. [FileStore] is the one on disk,
// made by [CreateFile] and opened by [OpenFile]; [MemStore] is a store for tests
// that can be crashed.
//
// Nothing in this package knows about time, the network or the protocol.
package memberstate
