// Standing back: a node whose program fails at once leaves the leadership to the others for
// a while, for longer each time. If it led again at once its program would fail again, in
// a new term each time, while it may work elsewhere.

package node

import (
	"context"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// standby is until when a node stands back. The zero standby does not.
type standby struct {
	failures int // in a row
	until    time.Time
}

// A program that ends by itself within atOnce of its start has failed.
const atOnce = time.Second

// The wait after the first failure, and the longest.
const shortestStandby, longestStandby = time.Second, time.Minute

// ended takes note that a program has ended after it ran for some time, by itself or not.
func (s *standby) ended(ran time.Duration, byItself bool, now time.Time) {
	switch {
	case ran >= atOnce:
		*s = standby{}
	case byItself:
		wait := shortestStandby
		for range s.failures {
			wait = min(2*wait, longestStandby)
		}
		s.failures++
		s.until = now.Add(wait)
	}
}

// note takes note of how a run of the program has ended.
func (p *program) note(ran time.Duration, byItself bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.standby.ended(ran, byItself, time.Now())
}

// standsBack is how long this node still stands back. Without a program it never does.
func (p *program) standsBack() time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.standby.until))
}

// lead is what a member that votes does in office. A member does not stand for election
// before the Lead of its last office has returned; so this hands over, and returns when the
// member no longer stands back, or has stopped.
func (n *node) lead(ctx context.Context, term memberstate.Term) error {
	err := n.member.lead(ctx, term)
	wait := n.program.standsBack()
	if wait == 0 {
		return err
	}
	if ctx.Err() == nil {
		_ = n.election.Resign(ctx) // an error says that this member leads no more, too
		<-ctx.Done()
	}
	back, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for range n.election.Watch(back) { // ends with the wait, or when this member has stopped
	}
	return err
}

// Acquire is how a member gets the lease that contends for it: not while it stands back.
func (s contended) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	if s.member.program.standsBack() > 0 {
		return false, nil
	}
	return s.Store.Acquire(ctx, c)
}
