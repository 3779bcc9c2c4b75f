// Package shell runs whole hosts in a world of faults, and tries to break the code around the
// protocol: the goroutines, locks, queues and timers of package elector, and the calls of
// the engine's functions. It does the same with whole keepers of package lease, see below.
//
// Package simulation runs the protocol alone, many thousand worlds a minute, and can repeat each of
// them event by event. Here a world is a bubble of testing/synctest, whose time is virtual. Each
// process is an [elector.Host] with its [elector.Elector]s, on a [memberstate.FileStore]
// on a disk in memory, over an [rpc.Network]. All of this is the code that ships,
// used as a user would use it. A world takes about a hundred milliseconds. Its seed decides the world
// and what may happen in it, but not the order in which goroutines run, so the same seed may
// take another course.
//
// [Run] runs one world, a [Campaign] many.
//
// # A world
//
// There are 1 to 7 nodes and 1 to 8 groups. Each group has its own members (voters and
// observers, possibly an even number), heartbeats (20 milliseconds to 2 seconds, of which
// 2 to 100 may be missed), preferred members, and settings for leases, pre-vote and ranks.
// A member's settings may differ from the group's, and from one join to the next. In two worlds of three nodes exchange beats; in one of three of these some processes do not. An engine
// has a Lead or observes, may have a Pause, may be slow in callbacks, return early, fail, or end
// its goroutine. It may vouch for its ability to lead, by Alive or Healthy, and one function of a process may judge
// all its engines. Engines replicate a ledger, keep their promise by [elector.Promise], and commit
// the entries that a quorum has. Clocks run at different rates: a member with a fast clock has
// shorter intervals, and the times in messages are converted in transit.
//
// First faults strike, see [Fault], and operators give orders about whole nodes. A process that dies is cut off from network, disk and judge
// at one moment, and ends unobserved. Then everything heals, every group must have
// a leader that serves. A node is taken out of service and back, then all are drained, and there must be leaders all the same. At
// last everything is stopped.
//
// # Invariants
//
//	invariant          rule
//	OneLeader          one member, which joined once, leads a term; all members that name its leader agree
//	WonByQuorum        a leader has the votes of a majority, and they are on disks
//	TermsGrow          terms never fall, in Status or on disk, over all processes of a node; nor do revisions
//	VotesKept          a node votes for one candidate in a term, in Status, on disk and on the wire
//	SaidDurable        terms, votes and promises are on the disk before they are shown or sent
//	RecordsKept        a new process finds the record that was acknowledged last, or one that was being saved, also that of whether its node stays drained
//	LossShown          Status shows a loss, and Lead's context has ended, before the disk starts to save
//	LeadOnce           one Lead of a member runs at a time, and one for each term
//	LeadInOffice       while Lead's context lives the member leads that term, with a lease if it has leases
//	LeadCalled         Lead is called at once when a member leads, with a lease if it has leases
//	LeadGivesUp        a Lead that returns by itself gives up the office
//	PauseEnds          Pause's context ends with the handover and with the term
//	OneLease           no two members of a group hold a lease at the same moment
//	LeaseCovered       a lease ends at most a detection time, less the margin, after the sending of a heartbeat for which a quorum has promised
//	LeaseOver          a lease is not shown after its end, after it was given back or lost, or after a handover has told its target to stand
//	PromiseKept        a voter votes for no other candidate while a lease that it has promised lasts, except after a handover
//	CommittedStays     committed entries are in the ledger of every later leader
//	Rests              a member that has resigned does not stand for two detection times, unless it is ordered to or another leads
//	NamedHeir          a leader hands over to the member that was named, and to no other; only a drain, or balance if it was ordered, chooses by itself
//	OrdersTold         orders have the outcome that is reported; a member ends with an error if, and only if, its disk failed
//	MistakesTold       a wrong configuration is refused with the field's name; calls out of turn are refused
//	CallsEnd           every call ends when its context ends, within the time of a handover, or with the member
//	StopWaits          a member that is done runs and begins no callback; a stopped leader has handed over or could not; a closed host serves no more
//	JudgedOnce         the function that judges the engines of all groups is not called while it runs
//	Prompt             heartbeats, and beats between nodes, are sent and answered in time, reports are made and orders to stand obeyed at once, unless something holds the process up
//	Watched            Watch, Host.Watch, handlers and metrics receive what Status shows, in order, up to the last change
//	Drains             Drain succeeds only if the node has led nothing for a heartbeat; without faults it hands over all that others can lead, again and again
//	NotToLeaving       a leader asks nobody to take over whose node has told it that it does not serve, while another voter serves and answers
//	Progresses         Progress adds up, counts the groups that the node shows to lead, and has the state of the last order, which may have been given to an earlier process
//	NodesKnown         Nodes shows the nodes that share groups, and without faults what they say of themselves
//	Ignored            what was forged is counted as ignored
//	Found              after the last fault every group soon has a leader that serves, holds its lease, commits, and hands over when ordered
//	NothingLeft        no goroutine is left, none waits for ever, and virtual time goes on
//
// The judge reads from an elector only Status, Lease and what every user receives.
// It counts quorums, promises and times itself from the messages, votes when they become
// durable, and commits when entries reach the ledgers. It believes a member in two things: the
// reason why it leads no more, by which the judge learns that it has resigned, and its own
// numbers of heartbeats, see judge_wire.go.
//
// Judge and world share no rule and no part of a world with packages simulation and explore, although all three check
// many of the same invariants. They are independent on purpose: those two look into nodes, at each step and in one goroutine. If they looked at the
// wrong thing, or their world forgot something, both would miss the same defects. The judge sees only what a user sees, through
// goroutines and locks, so it finds out by itself. The other oracles of this kind are in
// docs/verification.md, "What is judged twice".
//
// # Limits
//
// These worlds do not cover:
//
//   - The wire format of rpc/grpcrpc: messages are passed on as values. The judge sees them
//     between the host and the network.
//   - A goroutine that is held up between two statements, because within one moment of virtual
//     time everything happens at once. Send can be held up, which holds up the loop of a host.
//     Everything that an engine or a disk does can be held up, too.
//   - Code that takes time while it holds a lock of package sync, because virtual time
//     stands still while a goroutine waits for one. So disks are slow only in the syncs that
//     saves wait for.
//   - A death in the midst of a computation: a goroutine that is busy when its process dies
//     goes on until it next calls the world, which refuses.
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
//	OneLeader      the database gives a term to one candidate, which leads it once
//	OneLease       no two candidates show a lease at the same moment
//	LeaseCovered   a lease is no longer than the record in the database, which names its holder
//	LeaseOver      neither Lease nor Status shows a lease at its end, after it was given back, or after it was gone
//	ReleasedAfter  a lease is released only when Lead has returned and the lease is shown no more
//	CallsEnd       a call of the store has a deadline within Timeout; Resign ends with its context, and with Run
//	StopWaits      after Run has returned, no callback runs and a lease of its own was given back; after the last Run, the database is not asked and nothing is logged
//	Found          after the last fault every lease soon has a leader; one that resigns is replaced within two polls, or half a poll if releases are announced
//	Rests          a leader that resigns is not the next leader if there is another candidate
//
// A process stands still only in its calls of the store and in its callbacks; its timers go on.
// So these worlds do not show how a process behaves that wakes up late. Package
// simulation/leases shows that for the protocol.
package shell
