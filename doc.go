// Package hustings decides who leads.
//
// It is a library for replicated storage engines: the engine owns a log, which
// is called the ledger here, and hustings elects one of its members to write it.
// The election is DLedger's, RocketMQ's dialect of Raft, hardened where the
// original is unsafe or slow.
//
// There is nothing in this package itself; it is the front page. Begin with
// package [github.com/hustings/hustings/elector], whose documentation first
// explains the one promise that an engine has to keep. The others are:
//
//   - [github.com/hustings/hustings/memberstate]: roles, terms, members, and the
//     store that remembers a vote, on disk and in memory;
//   - [github.com/hustings/hustings/rpc]: messages, and the contract of whatever
//     carries them; [github.com/hustings/hustings/rpc/grpcrpc] carries them over
//     gRPC;
//   - [github.com/hustings/hustings/lease]: the other election, by a lease in a
//     database, behind the same interface;
//   - [github.com/hustings/hustings/operator]: what operators use;
//   - [github.com/hustings/hustings/simulation]: a hostile world for all of it.
package hustings
