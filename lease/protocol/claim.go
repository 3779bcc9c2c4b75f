// Claiming leases that were found free: each by a call of its own, several at a time. Polls go
// on meanwhile, because a claim may have to wait for a locked record.

package protocol

// claims are the claims that wait for their turn, and the number of those under way. A claim
// gets its turn before it gets a place among the calls. So only few claims wait for the place
// of a call that was given up, and no longer than a time-out.
type claims struct {
	waiting []*session
	making  int
}

// queueClaim queues a claim for a lease. Its turn may come when the answer is over that showed the lease free.
func (k *Keeper) queueClaim(s *session) {
	s.phase = claiming
	s.pending++
	k.claims.waiting = append(k.claims.waiting, s)
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

// wantsClaim fills in a claim, unless its session retires, or is no longer able to lead.
func (k *Keeper) wantsClaim(c *call) bool {
	s := c.of[0]
	if s.retiring || !k.hasTurn(s) {
		k.endClaim(s)
		k.settle(s)
		return false
	}
	s.asked, s.last = k.now, !s.able()
	c.Claim = Claim{
		Name: s.name, Holder: k.rules.ID, TTL: k.rules.Timing.TTL,
		Term: s.seen.Term, Renewals: s.seen.Renewals, Watched: k.rules.Strict,
	}
	return true
}

// endClaim ends a claim's turn.
func (k *Keeper) endClaim(s *session) {
	k.claims.making--
	s.pending--
	k.resume(s)
}

// claimed takes office if the claim is known to have won in time. A claim without an answer may
// have won, too; then the next poll shows this candidate as the holder, and the lease is
// claimed again. A session that retires gives back a lease that it has won.
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
