// Package protocol is the election as values: what a group's member decides, what whoever
// drives it has to remember, and what all groups of one node have in common.
//
//	Machine   one group at one member: the protocol, step by step
//	Session   a machine, and what its driver remembers: when rounds were sent, the lease,
//	          whether the engine's Lead runs, who ordered a handover
//	Node      all sessions of one node: messages, alarms, what goes out together and what
//	          is saved together
//
// There is no clock, goroutine, lock, channel, random source, input or output in here. The
// time is handed in, chance is asked for, and everything else goes to an interface. So the
// simulator, the explorer and the benchmarks run the code that package elector ships, and
// package elector is left with goroutines, timers, callbacks, a disk and a transport.
//
// An engine does not need this package; it uses package elector, which shows the types of
// this one that an engine meets. It is exported for those who build another driver.
package protocol
