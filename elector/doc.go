// Package elector elects the leader of a group.
//
// An engine uses [New] (or [NewHost] and [Host.Join], for many groups at one node),
// [Elector.Run], and the callbacks of [GroupConfig], which says what happens when one of them
// panics or hangs.
//
// # The promise that an engine keeps
//
// An election is only as safe as the answer to one question: where does this
// member's ledger end? A member votes for a candidate whose ledger is at least
// as good as its own. If its own ledger could still grow in the old term after
// the vote, an entry could be acknowledged that the new leader has never seen, and
// a committed entry would be lost. So the ledger and the vote are one promise:
//
//   - The elector calls [GroupConfig.LedgerEnd] with a term before it votes in that
//     term. After LedgerEnd has returned, the engine accepts no append of a lower term,
//     until the next call.
//   - The engine calls [Elector.Heard] with the term and the leader of an append
//     BEFORE it accepts the append, and refuses the append if Heard returns an error.
//     Once the engine has accepted an append, it accepts none of a lower term.
//
// Between Heard and the write to the ledger, the member may vote, and an
// append of a later leader may overtake this one. So the engine must check the term again
// while it holds the lock of its ledger. [Promise] does that, and shows how. This module's tests
// (engine_test.go in its root) have an engine that keeps the promise, and two that do not
// and lose a committed entry.
//
// # What is guaranteed
//
//   - A term is led at most once, by one incarnation of one member. So the term is a
//     fencing token. Two members may both believe for a while that they lead, in
//     different terms: fence every write with the term.
//   - A member gives one vote a term, over any number of crashes, as long as its store
//     keeps what it acknowledged. Terms never fall.
//   - With [GroupConfig.Leases] no two members hold a lease at the same time, as long as no
//     clock runs faster or slower than another by more than the drift margin during one lease.
//
// # What is not guaranteed
//
//   - There is no leader while no quorum of voters can reach each other.
//   - The list of voters cannot change while the group runs.
//   - The lease does not protect a process that stands still before it acts on it, or a machine
//     that was suspended (see [Elector.Lease]). The term does.
//
// # What an engine must not do
//
//   - Acknowledge an entry before it is durable, or write one without its term.
//   - Accept an append of a term lower than that of its last LedgerEnd or of its last append,
//     or one that Heard has refused. [Promise] refuses them, if the leader's own appends and
//     those of others go through the same Promise.
//   - Shorten its ledger, unless the leader of the last LedgerEnd's term, or of a later one, has
//     told it to. Append in a term that this member has not led and that Heard has not
//     announced; terms in the ledger at the start are allowed. Of these three, the member stops
//     with a [LedgerError] if it notices one.
//   - Write an append whose elector has stopped since Heard returned. [Promise] does not check this.
//   - Write as the leader after Lead's context has ended, or between the return of Pause and the
//     end of Pause's context. When Pause's context ends and the member still leads the term,
//     writes go on.
//   - Call the elector from LedgerEnd, from the function given to [Promise.Accept] or from
//     [Metrics]; or wait for [Elector.Stop] in Lead, Pause or a [RoleHandler], because Stop
//     waits for all of them.
//   - Give a node an older copy of its store, or an empty store, under the same id; or run two
//     processes under one id.
//
// # How it is built
//
// Package [github.com/hustings/hustings/elector/protocol] decides everything, as values
// without clock, lock or goroutine. A [Host] gives them time, disk, network and the
// callbacks of its groups' engines; [New] makes a host of one group.
package elector
