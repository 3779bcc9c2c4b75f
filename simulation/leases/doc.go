// Package leases runs elections by a lease in a hostile world, and tries to break them.
//
// The code that ships runs here: each candidate is a protocol.Keeper, which decides everything
// in a lease.Keeper, and the lease that a service looks at; the database is the store of package
// lease/mem. Goroutines, the timer, drivers and the network are simulated, in virtual time.
// The candidates contend for up to four leases. Questions
// and answers are lost, statements are executed late or twice, commits take from
// microseconds to more than a TTL, the database's clock steps, all clocks have their own
// rates, candidates crash, stand still and come back. After every event all
// invariants are checked. One seed decides everything: the same seed gives the same
// [Result.Digest] on any machine.
//
// [Run] plays one seed, a [Campaign] many; [Options.Tell] receives a run line by line.
//
// # What is checked
//
//	invariant       what must hold
//	OneLease        no two candidates have a lease that is valid by their clocks, at the same moment of true time
//	TermsGrow       the term of the record never falls and grows by one with every acquisition; a candidate's never falls
//	OneHolder       a term is led once, by the candidate that the database gave it to
//	StaysOver       a lease that has run out is not valid again
//	Kept            a lease is given up only if the record says so, soon repeated attempts could not renew it, or the service cannot work
//	LeadEnds        Lead's context has ended before another candidate has the lease, unless the process stood still
//	ReleasedAfter   nothing is released before Lead has returned, and no candidate ends before
//	GivesBack       a release that fails is tried again until the lease has run out, and no longer
//	StandsBack      a candidate does not claim a lease that it has given up for two polls; if it could not be released, counted from when it ran out. One that is not able to lead claims only what has stood free for four polls
//	FollowersRead   a candidate that follows, observes or has left writes nothing; it claims only a lease that it has read as free
//	Cadence         without faults everything is looked at once in a Poll and renewed once in a Renew, and not twice as often
//	Converges       once healed, the world has a leader soon, and keeps it
//	TakenOver       after a leader falls silent another one leads within TTL + poll + margin, two polls in strict mode; at once if it resigns and all hear of it
//	AbleLeads       a leader whose service hangs, or is not well, is replaced by a candidate that is able
//	LedAnyway       although no service works, no lease is without a leader for longer than six polls and some statements
//	GivesUpRarely   of the times after which a candidate gives up a lease again for want of ability, fewer than 2k are shorter than 2^k TTLs; and one that fails again is able again only after a hold twice as long
//	Recovers        a candidate whose service works again is able to lead after a hold
//	InTime          a lease is looked at within an eighth of a Poll after a wake-up, a release that failed is repeated within a quarter of a Renew and is over when the lease is, and a candidate listens again a Poll after it failed to; unless drivers hang or the process stood still
//	GivenBack       when all is quiet, a candidate holds no place, turn or count of work that is over
package leases
