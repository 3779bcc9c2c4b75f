// Package shell runs whole hosts in a hostile world, and tries to break the code around the
// protocol: the goroutines, locks, queues and timers of package elector, and the calls of
// the engine's functions. It does the same with whole keepers of package lease, see below.
//
// Package simulation runs the protocol alone, many thousand worlds a minute, and can repeat each of
// them event by event. Here a world is a bubble of testing/synctest, whose time is virtual. Each
// process is an [elector.Host] with its [elector.Elector]s, on a [memberstate.FileStore]
// on a disk in memory, over an [rpc.Network]. All of it is the code that ships,
// used as any user would. A world takes about a hundred milliseconds. Its seed decides the world
// and what may happen in it, but not the order in which goroutines run, so the same seed may
// take another course.
//
// [Run] runs one world, a [Campaign] many.
//
// # What a world is like
//
// There are 1 to 7 nodes and 1 to 8 groups. Each group has its own members, voters and
// observers, possibly an even number; heartbeats of 20 milliseconds to 2 seconds, of
// which 2 to 100 may be missed; leases, pre-vote and ranks, in which a member may differ
// from the rest, also from one join to the next; preferred members. Engines have a Lead or
// observe, have a Pause or not, are slow in callbacks, return early, fail, or end their
// goroutine. They replicate a ledger, keep their promise by [elector.Promise], and commit what
// a quorum has. Clocks run at different rates: a member with a fast clock has shorter
// intervals, and the times in messages are converted on their way.
//
// First faults strike, see [Fault]. A process that dies is cut off from network, disk and judge
// at one moment, and ends unobserved. Then everything heals, every group must have
// a leader that serves, and at last everything is stopped.
//
// # What is checked
//
//	invariant          what must hold
//	OneLeader          a term is led by one member, which joined once; all who name its leader agree
//	WonByQuorum        a leader has the votes of a majority, and they are on disks
//	TermsGrow          terms never fall, in Status or on disk, over all processes of a node; nor do revisions
//	VotesKept          a node votes for one candidate in a term, in Status, on disk and on the wire
//	SaidDurable        only what the disk has is shown or sent: terms, votes, promises
//	RecordsKept        a new process finds what was last acknowledged, or what was being saved
//	LossShown          Status shows a loss, and Lead's context has ended, before the disk starts to save
//	LeadOnce           one Lead of a member runs at a time, and one for each term
//	LeadInOffice       while Lead's context lives the member leads that term, with a lease if it has leases
//	LeadCalled         a member that leads, with a lease if it has leases, has its Lead called at once
//	LeadGivesUp        a Lead that returns by itself gives up the office
//	PauseEnds          Pause's context ends with the handover and with the term
//	OneLease           no two members of a group hold a lease at the same moment
//	LeaseCovered       a lease is no longer than from the sending of a heartbeat that a quorum has promised for, less the margin
//	LeaseOver          a lease is not shown after its end, after it was given back or lost, or after a handover has told its target to stand
//	PromiseKept        a voter stands by the leader to which it has promised a lease
//	CommittedStays     committed entries are in the ledger of every later leader
//	Rests              a member that has resigned does not stand for two detection times, unless it is told to or another leads
//	NamedHeir          a leader hands over to the member that was named, and to no other
//	OrdersTold         orders have the outcome that is reported; a member ends with an error if, and only if, its disk failed
//	MistakesTold       a wrong configuration is refused, with the field's name; and so are calls out of turn
//	CallsEnd           every call ends when its context does, or in a handover's time, or with the member
//	StopWaits          when a member is done none of its callbacks runs and none begins; a stopped leader has handed over or could not; nothing is served any more
//	Prompt             heartbeats are sent and answered in time, reports are made and orders to stand obeyed at once, unless something holds the process up
//	Watched            Watch, handlers and metrics receive what Status shows, in order, to the last change
//	Found              in good times every group has a leader soon that serves, holds its lease, and commits; and hands over when told
//	NothingLeft        no goroutine is left, none waits for ever, and virtual time goes on
//
// The judge reads nothing of an elector but Status, Lease and what every user receives.
// It counts quorums, promises and times itself, from the messages; votes when they become
// durable; and commits when entries reach the ledgers. It believes a member in
// two things: why it leads no more, from which the judge knows that it has resigned, and its
// own numbers of heartbeats, see judge_wire.go.
//
// # What is left out
//
//   - The wire format of rpc/grpcrpc: messages are passed on as values. The judge sees them
//     between the host and the network.
//   - A goroutine that is held up between two statements, because within one moment of virtual
//     time everything happens at once. Send can be held up, and with it the loop of a host, and
//     everything that an engine or a disk does.
//   - Anything that takes time while it holds a lock of package sync, because virtual time
//     stands still while a goroutine waits for one. So disks are slow only in the syncs that
//     saves wait for.
//   - A goroutine that is busy when its process dies goes on until it next calls
//     the world, which refuses.
//
// # Worlds of leases
//
// In a world of the kind [Leases] there are 1 to 5 candidates, each a [lease.Keeper] with a
// [lease.Elector] for each of 1 to 3 leases; an elector may be an observer. The database is the store of
// lease/mem. The network to it loses, delays and repeats statements and answers; the database
// refuses, stalls, has locked records, answers from an old copy, and in strict mode its clock
// steps. Processes die, end, join leases again, stand still, and are cut off; operators make
// leaders resign, and force terms. TTLs are half a second to 20 seconds, timings differ, clocks
// run at different rates, and the times in records are converted on their way.
//
// The invariants above that concern a leader, Lead, a lease, orders, calls and reports
// are checked, with these differences:
//
//	OneLeader      a term is given to one candidate, which leads it once
//	OneLease       no two candidates show a lease at the same moment
//	LeaseCovered   a lease is no longer than the record in the database, which names its holder
//	LeaseOver      neither Lease nor Status shows a lease at its end, after it was given back, or after it was gone
//	ReleasedAfter  a lease is released only when Lead has returned and the lease is shown no more
//	CallsEnd       a call of the store has a time of at most Timeout; Resign ends with its context, and with Run
//	StopWaits      when Run has returned no callback runs, and the lease was given back if it was its own; when the last one has, the database is not asked and nothing is logged
//	Found          in good times every lease has a leader soon; one that resigns is replaced within two polls, or half of one if all hear of it
//	Rests          a leader that resigns is not the next one if there is another
//
// A process stands still where it asks, is answered or is called: its timers go on.
// So these worlds do not show what a process does that wakes up late. Package
// simulation/leases shows that, for the protocol.
package shell
