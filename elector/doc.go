// Package elector elects the leader of a group.
//
// # The promise that an engine keeps
//
// An election is only as safe as the answer to one question: where does this
// member's ledger end? A member votes for a candidate whose ledger is at least
// as good as its own. If its own ledger can still grow in the old term after
// the vote, an entry can be acknowledged that the new leader has never seen, and
// what was committed is lost. So the ledger and the vote are one promise:
//
//   - [GroupConfig.LedgerEnd] is called with a term when a vote is at stake. From its
//     return on, the engine accepts no append of a lower term.
//   - [Elector.Heard] is called by the engine with the term and the leader of an
//     append BEFORE it accepts it. An error means: refuse it. Once the engine has
//     accepted an append, it accepts none of a lower term.
//
// Between Heard and the ledger the world may change: a vote may be given, and an
// append of a later leader may overtake this one. So the engine must look again
// when it holds the lock of its ledger. [Promise] does that for it:
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
// module have an engine that keeps the promise, and two that do not and lose a
// committed entry.
//
// # What is guaranteed
//
// A term is led at most once, by one incarnation of one member; so the term is a
// fencing token. A member gives one vote a term, over any number of crashes, as
// long as its store keeps what it acknowledged. Terms never fall. Two members
// may both believe that they lead for a while, in different terms: fence every
// write with the term. With [GroupConfig.Leases] no two members hold a lease at one
// time, as long as no clock runs faster or slower than another by more than the
// drift margin in one lease.
//
// # What is not
//
// There is no leader while no quorum of voters can reach each other. The list of
// voters cannot change while the group runs. A process that stands still between
// looking at its lease and acting on it is not protected by the lease, but is by
// the term.
//
// # Functions that do not return
//
// A panic in a function of [GroupConfig] is not recovered: it ends the process, and to
// the other members that is a crash. One that ends its goroutine instead, by runtime.Goexit,
// which a test's t.FailNow calls, is treated as if it had failed: a Lead has
// returned, so the member resigns if it was not told to leave; a Pause fails, so
// the handover is given up; LedgerEnd, and the Save of a store, stop the member
// with an error; a [RoleHandler] is told no more. A Lead that never comes back is
// waited for: its member does not stand again, because two Leads would run at
// once, and Stop does not return.
//
// # How it is built
//
// Package [github.com/hustings/hustings/elector/protocol] has everything that a member
// decides, as values without clock, lock or goroutine. A [Host] gives them time, disk,
// network and the engine's callbacks, for many groups at one node; [New] is a host of one.
// An engine needs New or [Host.Join], [Elector.Run] and the callbacks of [GroupConfig].
package elector
