// Package protocol is an election by a lease, as a value: one candidate with all its
// leases in one database. It has no clock, goroutine, lock, random source, input or
// output. Package lease gives it these, and package simulation/leases gives it others, so
// that what is simulated is what ships.
//
// [Keeper.Step] gives a [Keeper] one [Input] at a time. The keeper acts by calling its
// [Effects], in the order in which they take effect, and Step returns the time of the next
// tick.
//
//	keeper.go    the keeper: which step does what, and when the next one is due
//	input.go     the inputs of a keeper
//	effects.go   its effects
//	session.go   one lease: its state, and the way into office and out of it
//	contend.go   whether a lease is free
//	poll.go      when leases are read
//	claim.go     how a free lease is claimed
//	renew.go     when leases are renewed
//	release.go   how a lease is released
//	ability.go   whether a candidate is able to lead, and what follows
//	departure.go why a leader leads no more
//	call.go      how many calls of the store are under way, and how long they may take
//	trouble.go   which failures are reported
//	record.go    the records of a store, and its arguments
//	timing.go    the intervals
//
// Times are of the candidate's monotonic clock, counted from any moment that its driver
// chooses.
package protocol
