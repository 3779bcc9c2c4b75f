// Package leases runs elections by a lease in a hostile world, and tries to break them.
//
// The candidates are protocol.Keeper, which decides everything in a lease.Keeper, and the
// lease that a service looks at; the database is the store of package lease/mem: the code that
// is shipped. They contend for up to four leases. What gives them time is virtual, and stands
// for goroutines, a timer, drivers and the network. Questions
// and answers are lost, statements are carried out late or twice, commits take from
// microseconds to more than a TTL, the database's clock steps, all clocks have rates of
// their own, candidates crash, stand still and come back. After every event the
// invariants are checked. One seed decides everything: the same seed gives the same
// [Result.Digest] anywhere.
//
// [Run] plays one seed, a [Campaign] many; [Options.Tell] has a run told, line by line.
//
// # What is checked
//
//	invariant       what must hold
//	OneLease        no two candidates have a lease that is valid by their clocks, at one moment of true time
//	TermsGrow       the term of the record never falls and grows by one with every acquisition; a candidate's never falls
//	OneHolder       a term is led once, by whoever the database gave it to
//	StaysOver       a lease that has run out is not valid again
//	Kept            a lease is given up only if the record says so, or if it could not be renewed though that was tried again soon
//	LeadEnds        Lead's context has ended before the lease is another's, unless the process stood still
//	ReleasedAfter   nothing is released before Lead has returned, and nobody has ended before
//	GivesBack       a release that fails is tried again until the lease has run out, and no longer
//	StandsBack      nobody claims for two polls what it has given up; if it could not be released, after it has run out
//	FollowersRead   who follows, looks on or has left writes nothing; a claim is made only if what was read was free
//	Cadence         where nothing strikes everything is looked at once in a Poll and renewed once in a Renew, and not twice as often
//	Converges       once healed, the world has a leader soon, and keeps it
//	TakenOver       once the leader is silent another one leads within TTL + poll + margin, two polls in strict mode; at once if all hear that it has resigned
package leases
