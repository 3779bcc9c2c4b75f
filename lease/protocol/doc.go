// Package protocol is an election by a lease, as a value: one candidate with all its
// leases in one database. It has no clock, goroutine, lock, random source, input or
// output. Package lease gives it these, and package simulation/leases gives it others, so
// that what is simulated is what ships.
//
// A [Keeper] is told what has happened by [Keeper.Step], one [Input] at a time, and asks for
// what is to be done by calling its [Effects], in the order in which that takes effect. Step
// returns when the keeper wants to be called next, and there is nothing else to be asked.
//
//	keeper.go    the keeper: which step does what, and when the next one is due
//	input.go     what a keeper is told
//	effects.go   what it asks for
//	session.go   one lease: what is known of it, and the way into office and out of it
//	contend.go   when a lease is free
//	poll.go      when leases are looked at
//	claim.go     how a free lease is claimed
//	renew.go     when leases are renewed
//	release.go   how a lease is given back
//	call.go      how many calls of the store are under way, and how long they may take
//	trouble.go   which failures are told
//	record.go    what the store keeps, and what it is asked
//	timing.go    the intervals
//
// Times are of the candidate's monotonic clock, counted from wherever its driver likes.
package protocol
