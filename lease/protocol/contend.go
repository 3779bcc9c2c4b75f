// When a lease is free.

package protocol

import "time"

// sighting is a lease as a candidate has seen it.
type sighting struct {
	Record
	// since is when the candidate, by its own clock, first knew of this term and
	// number of renewals. Whoever holds the lease has renewed it earlier.
	since time.Duration
}

// see takes note of what was read. The time must be taken after the answer came:
// what stands still from then on was renewed before it.
func (s *sighting) see(r *Record, now time.Duration) {
	if s.Name == "" || r.Term != s.Term || r.Renewals != s.Renewals {
		s.since = now
	}
	s.Record = *r
}

// stoodStill says whether nobody has renewed the lease for as long as that, by the
// candidate's own clock.
func (s *sighting) stoodStill(now, wait time.Duration) bool { return now-s.since >= wait }

// free says whether a candidate may try to take the lease.
func (k *Keeper) free(of *session) bool {
	s := &of.seen
	switch {
	case s.Term == 0, s.Holder == k.rules.ID && !k.leftBehind(of): // in the second case it has won and was not told
		return true
	case s.Heir != "" && s.Heir != k.rules.Self:
		// The old holder may be in office for a TTL; then it is the heir's turn.
		return s.stoodStill(k.now, 2*s.TTL)
	case s.Released:
		return true
	case k.rules.Strict:
		return s.stoodStill(k.now, s.TTL)
	}
	return s.Left <= 0
}

// leftBehind says whether the lease was last seen in the term that this candidate has left:
// it could not be released, or this is an old copy. It is as another's then.
func (k *Keeper) leftBehind(s *session) bool {
	return s.seen.Holder == k.rules.ID && s.seen.Term == s.left
}

// led says whether somebody is in office, as far as can be told from here.
func (k *Keeper) led(of *session) bool {
	s := &of.seen
	if k.rules.Strict {
		return s.Holder != "" && !s.stoodStill(k.now, s.TTL)
	}
	return s.Holder != "" && s.Left > 0
}
