// Package leases runs elections by a lease in a hostile world, and tries to break them.
//
// The candidates are [lease.Machine] and the lease that a leader holds, the database is
// the store of package lease/mem: the code that is shipped. What gives them time is
// virtual, and stands for the goroutines of a lease.Keeper and for the network. Questions
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
//	LeadEnds        Lead's context has ended before the lease is another's, unless the process stood still
//	ReleasedAfter   nothing is released before Lead has returned
//	FollowersRead   who follows, looks on or has left writes nothing; a claim is made only if what was read was free
//	Converges       once healed, the world has a leader soon, and keeps it
//	TakenOver       once the leader is silent another one leads within TTL + poll + margin; two polls in strict mode
package leases
