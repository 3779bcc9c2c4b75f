// Package protocol is an election by a lease, as a value: one candidate with all its
// leases in one database. It has no clock, goroutine, lock, random source, input or
// output. Package lease provides these, and package simulation/leases provides simulated
// ones, so that the code that ships is simulated.
//
// Each call of [Keeper.Step] gives a [Keeper] one [Input]. The keeper asks for
// what is to be done by calling its [Effects], in the order in which that takes effect. Step
// returns the time at which the keeper wants to be called next.
//
//	keeper.go    the keeper: what each step does, and when the next one is due
//	input.go     the inputs of a keeper
//	effects.go   the effects that it asks for
//	session.go   one lease: what is known of it, and how an office begins and ends
//	contend.go   when a lease is free
//	poll.go      when leases are looked at
//	claim.go     how a free lease is claimed
//	renew.go     when leases are renewed
//	release.go   how a lease is given back
//	call.go      how many calls of the store are under way, and how long they may take
//	trouble.go   which failures are reported
//	record.go    the record that a store keeps, and the questions to it
//	timing.go    the intervals
//
// Times are of the candidate's monotonic clock, counted from any moment that its driver chooses.
package protocol
