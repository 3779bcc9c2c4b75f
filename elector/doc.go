// Package elector elects the leader of a group.
//
// # The promise that an engine keeps
//
// An election is only as safe as the answer to one question: where does this
// member's ledger end? A member votes for a candidate whose ledger is at least
// as good as its own. If its own ledger can still grow in the old term after
// the vote, the member may acknowledge an entry that the new leader has never
// seen, and a committed entry is lost. So the ledger and the vote are one promise:
//
//   - The elector calls [GroupConfig.LedgerEnd] with a term before it votes in that
//     term. After LedgerEnd has returned, the engine accepts no append of a lower term.
//   - The engine calls [Elector.Heard] with the term and the leader of an append
//     BEFORE it accepts the append, and refuses the append if Heard returns an error.
//     Once the engine has accepted an append, it accepts none of a lower term.
//
// Between Heard and the write to the ledger the member may vote, and an append of
// a later leader may overtake this one. So the engine must check the term again
// when it holds the lock of its ledger. [Promise] does that:
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
// The leader's own appends go through Accept, too, without Heard. The tests of this
// module have an engine that keeps the promise, and two engines that break it and
// lose a committed entry.
//
// # What is guaranteed
//
// A term is led at most once, by one incarnation of one member, so the term is a
// fencing token. A member gives one vote per term, across any number of crashes, as
// long as its store keeps the records that it acknowledged. Terms never fall. Two
// members may both believe that they lead for a while, in different terms: fence every
// write with the term. With [GroupConfig.Leases] no two members hold a lease at the
// same time, as long as no two clocks drift apart by more than the drift margin in
// one lease.
//
// # What is not
//
// There is no leader while no quorum of voters can reach each other. The list of
// voters cannot change while the group runs. The lease does not protect a process
// that is paused between the check of its lease and the action that relies on it;
// the term does.
//
// # Functions that do not return
//
// A panic in a function of [GroupConfig] is not recovered. It ends the process, which
// the other members see as a crash. A function that ends its goroutine by runtime.Goexit,
// which a test's t.FailNow calls, counts as failed: if it is Lead, the member resigns
// unless the context had ended; if it is Pause, the handover is given up; if it is
// LedgerEnd, or the Save of a store, the member stops with an error; a [RoleHandler]
// receives nothing more. If Lead never returns, its member does not stand again, because
// two Leads would run at the same time, and Stop does not return.
//
// # How it is built
//
// Package [github.com/hustings/hustings/elector/protocol] makes every decision of a
// member, in values without clock, lock or goroutine. A [Host] gives them time, disk,
// network and the engine's callbacks, for many groups at one node; [New] makes a host
// of one group. An engine needs New or [Host.Join], [Elector.Run] and the callbacks of
// [GroupConfig].
package elector
