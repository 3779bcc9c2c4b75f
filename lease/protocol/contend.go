// Whether a lease is free.

package protocol

import "time"

// sighting is a lease as the candidate last saw it.
type sighting struct {
	Record
	// since is when the candidate, by its own clock, first saw this term and number
	// of renewals. The holder's last renewal was earlier.
	since time.Duration
	// free is since when every look has found the lease free; 0: the last one has not.
	free time.Duration
}

// see notes a record that was read. now must be taken after the answer came, because then
// a record that does not change afterwards was last renewed before now.
func (s *sighting) see(r *Record, now time.Duration) {
	if s.Name == "" || r.Term != s.Term || r.Renewals != s.Renewals {
		s.since, s.free = now, 0
	}
	s.Record = *r
}

// stands notes whether the lease was found free.
func (s *sighting) stands(free bool, now time.Duration) {
	switch {
	case !free:
		s.free = 0
	case s.free == 0:
		s.free = max(now, 1)
	}
}

// stoodStill reports whether the lease has not been renewed for a time, by the candidate's
// own clock.
func (s *sighting) stoodStill(now, wait time.Duration) bool { return now-s.since >= wait }

// free reports whether the candidate may claim the lease.
func (k *Keeper) free(of *session) bool {
	s := &of.seen
	switch {
	case s.Term == 0, s.Holder == k.rules.ID && !k.leftBehind(of): // in the second case a claim won without an answer
		return true
	case s.Heir != "" && (s.Heir != k.rules.Self || !of.able()):
		// The old holder may be in office for a TTL; then it is the heir's turn. An heir that is
		// not able leaves its turn to others.
		return s.stoodStill(k.now, 2*s.TTL)
	case s.Released:
		return true
	case k.rules.Strict:
		return s.stoodStill(k.now, s.TTL)
	}
	return s.Left <= 0
}

// leftBehind reports whether the lease was last seen in the term that this candidate has left,
// because it could not be released or the copy is old. It is then treated as another's; and so is
// one that a candidate has won without an answer, as long as it is not able to lead.
func (k *Keeper) leftBehind(s *session) bool {
	return s.seen.Holder == k.rules.ID && (s.seen.Term == s.left || !s.able())
}

// led reports whether the lease has a leader, as far as this candidate can know.
func (k *Keeper) led(of *session) bool {
	s := &of.seen
	if k.rules.Strict {
		return s.Holder != "" && !s.stoodStill(k.now, s.TTL)
	}
	return s.Holder != "" && s.Left > 0
}
