// Standing back: a node whose program fails soon after its start leaves the leadership to the
// others for a while, longer after each failure. If it led again at once, the program would
// fail again, in term after term, although it may work on another node.

package node

import (
	"context"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// standby says until when a node stands back. The zero value says that it does not.
type standby struct {
	failures int // in a row
	until    time.Time
}

// A program that ends by itself within atOnce of its start has failed.
const atOnce = time.Second

// The wait after the first failure, and the longest wait.
const shortestStandby, longestStandby = time.Second, time.Minute

// ended notes that a program has ended, by itself or not, and for how long it ran.
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

// note notes how a run of the program has ended.
func (p *program) note(ran time.Duration, byItself bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.standby.ended(ran, byItself, time.Now())
}

// standsBack returns how long this node still stands back. Without a program it never does.
func (p *program) standsBack() time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.standby.until))
}

// lead is the Lead of a member that votes. A member does not stand for election before the
// Lead of its last office has returned. So a member that stands back hands over here, and
// returns when it no longer stands back, or has stopped.
func (n *node) lead(ctx context.Context, term memberstate.Term) error {
	err := n.member.lead(ctx, term)
	wait := n.program.standsBack()
	if wait == 0 {
		return err
	}
	if ctx.Err() == nil {
		_ = n.election.Resign(ctx) // an error, too, means that this member no longer leads
		<-ctx.Done()
	}
	back, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for range n.election.Watch(back) { // ends with the wait, or when this member has stopped
	}
	return err
}

// Acquire does not take the lease while the member stands back.
func (s contended) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	if s.member.program.standsBack() > 0 {
		return false, nil
	}
	return s.Store.Acquire(ctx, c)
}
