// Claiming what was found to be free: each lease by a call of its own, some at a time. Looking
// goes on meanwhile, because a claim may have to wait for a record that is locked.

package protocol

// claims are those that wait for their turn, and how many have it. A claim takes its turn
// before it takes a place among the calls: so the place of one that was given up is waited for
// by few, and no longer than a time-out.
type claims struct {
	waiting []*session
	making  int
}

// queueClaim has a lease claimed when it is its turn.
func (k *Keeper) queueClaim(s *session) {
	s.phase = claiming
	s.pending++
	k.claims.waiting = append(k.claims.waiting, s)
	k.nextClaims()
}

// nextClaims makes the claims whose turn it is.
func (k *Keeper) nextClaims() {
	c := &k.claims
	for len(c.waiting) > 0 && c.making < k.rules.Limits.Calls[Acquire] {
		s := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.making++
		k.place(&call{Call: Call{Kind: Acquire}, of: []*session{s}}, k.rules.Timing.Timeout)
	}
}

// wantsClaim makes up a claim, unless its sender has come to retire.
func (k *Keeper) wantsClaim(c *call) bool {
	s := c.of[0]
	if s.retiring {
		k.endClaim(s)
		k.settle(s)
		return false
	}
	s.asked = k.now
	c.Claim = Claim{
		Name: s.name, Holder: k.rules.ID, TTL: k.rules.Timing.TTL,
		Term: s.seen.Term, Renewals: s.seen.Renewals, Watched: k.rules.Strict,
	}
	return true
}

// endClaim gives the turn back.
func (k *Keeper) endClaim(s *session) {
	k.claims.making--
	s.pending--
	k.resume(s)
}

// claimed takes office if the claim is known to have won, and in time. Without an answer it may
// have won; then the next look finds this candidate to be the holder, and the lease is claimed
// again. What was won by one that retires is given back.
func (k *Keeper) claimed(c *call, a *Answer) {
	s := c.of[0]
	won := a.Won && a.Err == nil
	k.endClaim(s)
	switch {
	case won && s.retiring:
		s.view.Term++
		k.giveBack(s)
	case won && k.now < k.end(s):
		k.takeOffice(s)
	}
	k.came(Note{Kind: Acquire, Name: s.name, Term: s.seen.Term, Err: a.Err})
	k.settle(s)
}
