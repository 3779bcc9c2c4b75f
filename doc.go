// Package hustings elects leaders.
//
// It is a library for replicated storage engines: the engine owns a log, which
// is called the ledger here, and hustings elects one of its members to write it.
// The election is that of DLedger, RocketMQ's variant of Raft, hardened where the
// original is unsafe or slow.
//
// This package itself is empty. Begin with
// package [github.com/hustings/hustings/elector], whose documentation first
// explains the one promise that an engine has to keep. The others are:
//
//   - [github.com/hustings/hustings/memberstate]: roles, terms, members, and the
//     store that remembers a vote, on disk and in memory;
//   - [github.com/hustings/hustings/rpc]: messages, and the interface of a transport;
//     [github.com/hustings/hustings/rpc/grpcrpc] is one over gRPC;
//   - [github.com/hustings/hustings/lease]: elections by a lease in a
//     database, behind the same interface;
//   - [github.com/hustings/hustings/operator]: shows operators what a node does, and
//     takes their commands;
//   - [github.com/hustings/hustings/simulation]: tries to break all of it in a hostile
//     virtual world.
package hustings
