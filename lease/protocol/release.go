// Releasing a lease, when Lead has returned. A failed release is repeated until the lease has
// expired, because no other candidate can have it before. Then others are woken.

package protocol

import (
	"fmt"
	"time"
)

// giving is the state of a release.
type giving struct {
	tries int
	at    time.Duration // of the next attempt; Never: there is none, or one is under way
}

// returned releases the lease, because Lead has returned. An office that was not left before
// is left now.
func (k *Keeper) returned(s *session, err error) {
	if s.phase == serving {
		k.leave(s, resigned)
		k.fx.Tell(Note{Topic: ReturnedEarly, Name: s.name, Term: s.view.Term, Err: err})
	}
	s.ability.ending = 0
	if s.phase == leaving {
		k.giveBack(s)
	}
}

// giveBack begins to release the lease.
func (k *Keeper) giveBack(s *session) {
	s.giving = giving{}
	s.pending++
	k.release(s)
}

// releaseDue repeats the releases that are due.
func (k *Keeper) releaseDue() {
	var due []*session
	for _, s := range k.sessions {
		if k.now >= s.giving.at {
			due = append(due, s)
		}
	}
	for _, s := range due { // in a loop of its own, because release may end a session
		k.release(s)
	}
}

// release makes one attempt.
func (k *Keeper) release(s *session) {
	s.giving.at = Never
	k.place(&call{of: []*session{s}, Call: Call{Kind: Release, Held: []Held{s.held()}}}, k.end(s)-k.now)
}

// released schedules the next attempt if this one failed, with growing waits, as long as the
// lease has not expired.
func (k *Keeper) released(c *call, err error) {
	s := c.of[0]
	k.came(Note{Kind: Release, Name: s.name, Term: s.view.Term, Err: err})
	if err != nil {
		g := &s.giving
		g.at = k.now + k.fx.Draw(k.rules.Timing.releaseWithin(g.tries))
		g.tries++
		if g.at < k.end(s) {
			k.wakeBy(g.at)
			return
		}
		g.at = Never
		err = fmt.Errorf("lease: %q could not be released, so others wait until it has expired: %w", s.name, err)
	}
	k.vacate(s, err)
}

// vacate ends the office: its lease was released, or could not be. This candidate stands back
// for a while, so that another one gets the lease. If it could not be released, that while
// begins when it has expired.
func (k *Keeper) vacate(s *session, err error) {
	s.pending--
	if s.phase == leaving {
		k.resume(s)
		k.standBack(s)
		s.seen, s.left = sighting{}, s.view.Term
		k.fx.Vacate(s.name, s.view.Term, err)
	}
	if err == nil && k.rules.Wakes {
		s.pending++
		k.place(&call{of: []*session{s}, Call: Call{Kind: Wake, Names: []string{s.name}}}, k.rules.Timing.Poll)
		return
	}
	k.settle(s)
}

// woke handles the answer of a Wake. Candidates that were not woken notice within a poll.
func (k *Keeper) woke(c *call, err error) {
	s := c.of[0]
	k.came(Note{Kind: Wake, Name: s.name, Term: s.view.Term, Err: err})
	s.pending--
	k.settle(s)
}
