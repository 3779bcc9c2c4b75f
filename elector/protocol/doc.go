// Package protocol is the election as values: what a member of a group decides, what its
// driver has to remember, and what all groups of one node share.
//
//	Machine   one group at one member: the protocol, step by step
//	Session   a machine, and what its driver remembers: when rounds were sent, the lease,
//	          whether the engine's Lead runs, who ordered a handover
//	Node      all sessions of one node: messages, alarms, and what is sent and saved
//	          together
//
// It has no clock, goroutine, lock, channel, random source, input or output. Times
// are passed in, random choices are asked for, and everything else goes to an interface. So the
// simulator, the explorer and the benchmarks run the code that package elector ships, and
// package elector is left with goroutines, timers, callbacks, a disk and a transport.
//
// An engine uses package elector instead, which shows the types of
// this package that an engine needs. This one is exported for other drivers.
package protocol
