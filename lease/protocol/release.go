// Giving a lease back, when Lead has returned. It is tried again until the lease has run out,
// because nobody else can have it before. Then others are woken.

package protocol

import (
	"fmt"
	"time"
)

// giving is a lease that is being given back.
type giving struct {
	tries int
	at    time.Duration // when it is tried again; Never: it is not, or it is being tried
}

// returned gives the lease back, for Lead has returned. An office that was not left before is
// left by that.
func (k *Keeper) returned(s *session, err error) {
	if s.phase == serving {
		k.leave(s, resigned)
		k.fx.Tell(Note{Topic: ReturnedEarly, Name: s.name, Term: s.view.Term, Err: err})
	}
	if s.phase == leaving {
		k.giveBack(s)
	}
}

// giveBack releases the lease.
func (k *Keeper) giveBack(s *session) {
	s.giving = giving{at: Never}
	s.pending++
	k.release(s)
}

// releaseDue tries again what is to be tried again.
func (k *Keeper) releaseDue() {
	var due []*session
	for _, s := range k.sessions {
		if k.now >= s.giving.at {
			due = append(due, s)
		}
	}
	for _, s := range due { // which may end it
		k.release(s)
	}
}

// release tries to.
func (k *Keeper) release(s *session) {
	s.giving.at = Never
	k.place(&call{of: []*session{s}, Call: Call{Kind: Release, Held: []Held{s.held()}}}, k.end(s)-k.now)
}

// released tries again if that failed, a little later each time, as long as it makes a
// difference.
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
		err = fmt.Errorf("lease: %q could not be released, and others wait until it has run out: %w", s.name, err)
	}
	k.vacate(s, err)
}

// vacate ends the office: its lease was released, or could not be. This candidate stands back
// for a while, so that another one gets it. If it could not be released that while begins when
// it has run out.
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

// woke says that others were woken, or could not be. They look by themselves within a poll.
func (k *Keeper) woke(c *call, err error) {
	s := c.of[0]
	k.came(Note{Kind: Wake, Name: s.name, Term: s.view.Term, Err: err})
	s.pending--
	k.settle(s)
}
