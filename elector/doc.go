// Package elector elects the leader of a group.
//
// An engine uses [New] (or [NewHost] and [Host.Join], for many groups at one node),
// [Elector.Run], and the callbacks of [GroupConfig].
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
//     until the next call. (That one has a lower term only if the member was stopped before it
//     had saved the larger one, and has joined again. Then it is the lower one that counts.)
//   - The engine calls [Elector.Heard] with the term and the leader of an append
//     BEFORE it accepts the append, and refuses the append if Heard returns an error.
//     Once the engine has accepted an append, it accepts none of a lower term.
//
// Between Heard and the write to the ledger, the member may vote, and an
// append of a later leader may overtake this one. So the engine must check the term again
// while it holds the lock of its ledger. [Promise] does that:
//
//	func (e *Engine) LedgerEnd(term memberstate.Term) memberstate.Position {
//		return e.promise.End(term, e.end)
//	}
//
//	func (e *Engine) Append(term memberstate.Term, leader string, entry []byte) error {
//		if err := e.elector.Heard(term, leader); err != nil {
//			return err
//		}
//		return e.promise.Accept(term, func() error { return e.write(term, entry) }) // durable, then acknowledged
//	}
//
// The leader's own appends go through Accept, too, without Heard. This module's tests
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
//   - The lease does not protect a process that stands still between looking at its lease
//     and acting on it. The term does.
//
// # What an engine must not do
//
//   - Acknowledge an entry before it is durable, or write one without its term.
//   - Accept an append of a term lower than that of its last LedgerEnd or of its last append,
//     or one that Heard has refused. [Promise] refuses them, if the leader's own appends and
//     those of others go through the same Promise.
//   - Shorten its ledger, unless the leader of the last LedgerEnd's term, or of a later one, has
//     told it to. Append in a term that this member has not led and that Heard has not
//     announced; terms in the ledger at the start are allowed. The member stops with a
//     [LedgerError] if it notices.
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
// # An engine that cannot work
//
// Heartbeats need neither the engine nor its disk, so a leader whose engine hangs would lead on, and
// every client would wait for it. With [GroupConfig.Vouch] the engine vouches for itself: it calls
// [Elector.Alive] whenever it has done useful work, or answers [GroupConfig.Healthy]. A leader whose
// engine's last word is older than Vouch hands over to a member whose engine is able. If none is, it
// leads on. A process that knows in one place which of its engines cannot work sets [HostConfig.Stalled]
// instead: one function for all groups.
//
//   - Vouch for what clients wait for: a write that has reached the disk, an entry that was applied.
//     An idle engine must vouch, too, for example by writing something small now and then.
//   - Never vouch by a request through the group itself. That needs a leader and a quorum, so all
//     members would be taken for not able at the one moment when the group has to elect.
//   - Vouch is at least two heartbeats. A detection time is a good value: then a leader that hangs is
//     replaced about as fast as one that has died.
//
// The host sees some of it without being asked: a store that has been saving for longer than a
// detection time, a Pause that does not return, and a Lead that does not return after its context
// has ended.
//
// # Functions that do not return
//
// A panic in a function of [GroupConfig] is not recovered: it ends the process, which
// is a crash to the other members. A function that ends its goroutine instead, by runtime.Goexit,
// which a test's t.FailNow calls, is treated as if it had failed:
//
//   - Lead has returned, so the member resigns if its context had not ended.
//   - Pause fails, so the handover is given up.
//   - LedgerEnd, or the Save of a store, stops the member with an error.
//   - A [RoleHandler] is not called any more.
//
// A Lead that never returns is waited for: its member does not stand again, because two
// Leads would run at once, and Stop does not return.
//
// # How it is built
//
// Package [github.com/hustings/hustings/elector/protocol] decides everything, as values
// without clock, lock or goroutine. A [Host] gives them time, disk,
// network and the engine's callbacks, for many groups at one node; [New] makes a host of one.
package elector
