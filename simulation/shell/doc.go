// Package shell runs whole hosts in a hostile world, and tries to break what is around the
// protocol: the goroutines, locks, queues and timers of package elector, and the calls of
// the engine's functions. It does the same with whole keepers of package lease, see below.
//
// Package simulation runs the protocol alone, many thousand worlds a minute, and plays each of
// them again event by event. Here a world is a bubble of testing/synctest, whose time is virtual:
// an [elector.Host] for each process, with its [elector.Elector]s, on a [memberstate.FileStore]
// that lies on a disk in memory, over an [rpc.Network]. All of it is the code that is shipped,
// used as anybody uses it. A world takes a hundred milliseconds or so. Its seed decides what
// the world is like and what may happen in it; in which order goroutines run it does not
// decide, so the same seed may take another course.
//
// [Run] runs one world, a [Campaign] many.
//
// # What a world is like
//
// There are 1 to 7 nodes and 1 to 8 groups. Each group has members of its own, voters and
// observers, also an even number of them; heartbeats of 20 milliseconds to 2 seconds, of
// which 2 to 100 may be missed; leases, pre-vote and ranks, which a member may have otherwise
// than the rest, and otherwise when it joins again; preferred members. Engines have a Lead or
// watch, have a Pause or not, take their time in callbacks, return early, fail, or end their
// goroutine. They replicate a ledger, keep their promise by [elector.Promise], and commit what
// a quorum has. Clocks run at different rates: a member whose clock is fast has shorter
// intervals, and the times in messages are converted on their way.
//
// First faults strike, see [Fault]. A process that dies is cut off from network, disk and judge
// at one moment, and ends where nobody sees it. Then all is healed, every group must have
// a leader that serves, and at last everything is stopped.
//
// # What is checked
//
//	invariant          what must hold
//	OneLeader          a term is led by one member, which joined once; all who name its leader agree
//	WonByQuorum        a leader has the votes of a majority, and they are on disks
//	TermsGrow          terms never fall, in Status or on disk, over all processes of a node; nor do revisions
//	VotesKept          a node votes for one candidate in a term, in Status, on disk and on the wire
//	SaidDurable        nothing is shown or said that the disk does not have: terms, votes, promises
//	RecordsKept        a process finds what was last acknowledged, or what was being saved
//	LossShown          Status shows a loss, and Lead's context has ended, before the disk is asked to save
//	LeadOnce           one Lead of a member runs at a time, and one for each term
//	LeadInOffice       while Lead's context lives the member leads that term, with a lease if it has leases
//	LeadCalled         a member that leads, with a lease if it has leases, has its Lead called at once
//	LeadGivesUp        a Lead that returns by itself gives the office up
//	PauseEnds          Pause's context ends with the handover and with the term
//	OneLease           no two members of a group hold a lease at one moment
//	LeaseCovered       a lease is no longer than from the sending of a heartbeat that a quorum has promised for, less the margin
//	LeaseOver          a lease is not shown after its end, after it was given back or lost, or after a handover's last word
//	PromiseKept        a voter stands by the leader that it has promised a lease
//	CommittedStays     what was committed is in the ledger of every later leader
//	Rests              who has resigned does not stand for two detection times, unless it is told to or another leads
//	NamedHeir          a leader hands over to whom it was told, and to no other
//	OrdersTold         orders have the outcome that is told; a member ends with an error if, and only if, its disk failed
//	MistakesTold       a configuration that is wrong is refused, with the field's name; and so is what is asked out of turn
//	CallsEnd           every call ends when its context does, or in a handover's time, or with the member
//	StopWaits          when a member is done none of its callbacks runs and none begins; a stopped leader has handed over or could not; nothing is served any more
//	Prompt             heartbeats are sent and answered in time, reports are made and orders to stand obeyed at once, unless something holds the process up
//	Watched            Watch, handlers and metrics are told what Status shows, in order, to the last change
//	Found              in good times every group has a leader soon that serves, holds its lease, and commits; and hands over when told
//	NothingLeft        no goroutine is left, none waits for ever, and time goes on
//
// The judge reads nothing of an elector but Status, Lease and what it is told as everybody is.
// It counts quorums, promises and times anew, from the messages; votes when they become
// durable; and what is committed when it gets into ledgers. Of what a member says of itself it
// believes two things: why it leads no more, by which it knows who has resigned, and its own
// numbers of heartbeats, see judge_wire.go.
//
// # What is left out
//
//   - The wire of rpc/grpcrpc: messages are handed over as values. They are looked at between
//     the host and the network.
//   - Within one moment of virtual time everything happens in no time, so nothing is found
//     that takes a goroutine to be held up between two statements. What can be held up is
//     Send, and with it the loop of a host, and everything that an engine or a disk does.
//   - Nothing may take time while it holds a lock of package sync: time stands still while
//     a goroutine waits for one. So disks are slow in the syncs that saves wait for alone.
//   - A goroutine that is in the midst of something when its process dies goes on to the
//     next thing that it asks of the world, and is refused.
//
// # Worlds of leases
//
// In a world of the kind [Leases] there are 1 to 5 candidates, each a [lease.Keeper] with a
// [lease.Elector] for each of 1 to 3 leases, which may look on. The database is the store of
// lease/mem. The way to it loses, delays and repeats what is asked and answered; the database
// refuses, stalls, has records locked, answers from an old copy, and in strict mode its clock
// steps. Processes die, end, join leases again, stand still, and are cut off; operators have
// leaders resign, and force terms. TTLs are half a second to 20 seconds, timings differ, clocks
// run at different rates, and the times in records are converted on their way.
//
// Of the invariants above those of a leader, of Lead, of a lease, of orders, calls and of what is
// told are checked, with these differences:
//
//	OneLeader      a term is given to one candidate, and led by that one, once
//	OneLease       no two candidates show a lease at one moment
//	LeaseCovered   a lease is no longer than the record in the database, which names its holder
//	LeaseOver      neither Lease nor Status shows a lease at its end, after it was given back, or after it was gone
//	ReleasedAfter  a lease is released when Lead has returned and the lease is shown no more
//	CallsEnd       a call of the store has a time of at most Timeout; Resign ends with its context, and with Run
//	StopWaits      when Run has returned no callback runs, and the lease was given back if it was its own; when the last one has, the database is not asked and nothing is logged
//	Found          in good times every lease has a leader soon; one that resigns is replaced within two polls, or half of one if all hear of it
//	Rests          a leader that resigns is not the next one if there is another
//
// A process that stands still does so where it asks, is answered or is called: its timers go on.
// So it is not found here what a process does that wakes up behind its time. Package
// simulation/leases has that, for the protocol.
package shell
