// From seeing a lease to holding it, and to giving it back.

package lease

import (
	"context"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// sees takes note of what was read, and says whether a claim is to be made.
func (e *Elector) sees(r Record, now time.Duration) bool {
	k := e.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.state != waits {
		return false
	}
	if known := e.status.Load().Term; r.Term < known {
		k.log.Error("the database has gone back, or what is read is an old copy; the lease is not touched", "group", r.Name, "term", uint64(r.Term), "known", uint64(known))
		return false
	}
	e.seen.see(r, now)
	e.show(func(s *elector.Status) {
		s.Role, s.Term, s.Leader = e.standing(), r.Term, ""
		if r.Holder != k.id && e.seen.led(k, now) {
			s.Leader = r.Holder
			if s.Role == memberstate.Candidate {
				s.Role = memberstate.Follower
			}
		}
	})
	if e.config.Observer || now < e.patience || !e.seen.free(k, now) {
		return false
	}
	e.state = claims
	e.working.Add(1)
	return true
}

// claim tries to take the lease, and takes office if it could. If there is no
// answer the claim may have succeeded; then the next look finds this candidate to
// be the holder, and claims the lease again.
func (e *Elector) claim() {
	defer e.working.Done()
	k, t := e.keeper, e.keeper.config.Timing
	c := Claim{
		Name: e.config.Name, Holder: k.id, TTL: t.TTL,
		Term: e.seen.Term, Renewals: e.seen.Renewals, Watched: k.config.Strict,
	}
	asked := k.now()
	won, err := call(k, k.lanes[claiming], func(ctx context.Context) (bool, error) { return k.config.Store.Acquire(ctx, c) })
	if err != nil {
		k.log.Warn("the lease could not be claimed", "group", c.Name, "term", uint64(c.Term), "error", err)
	}
	until := asked + t.validity()
	k.mu.Lock()
	retiring := e.retiring
	switch {
	case retiring:
		e.state = idle
	case won && k.now() < until:
		e.open(c.Term+1, until)
	default:
		e.state = waits
	}
	k.mu.Unlock()
	if won && retiring {
		e.release(c.Term + 1)
	}
}

// open takes office.
func (e *Elector) open(term memberstate.Term, until time.Duration) {
	l, o := office.NewLease(term, until), office.Open(term)
	e.state, e.office, e.vacated = serves, o, make(chan struct{})
	e.lease.Store(l)
	e.show(func(s *elector.Status) { s.Role, s.Term, s.Leader = memberstate.Leader, term, s.Self })
	e.working.Go(func() {
		if l.RunsOut(e.keeper.now) {
			o.Close() // before any lock is waited for
			e.lose(term, "it has run out")
		}
	})
	e.working.Go(func() { e.serve(o, l) })
}

// lose ends the office of a term that leads no more.
func (e *Elector) lose(term memberstate.Term, why string) {
	e.keeper.mu.Lock()
	defer e.keeper.mu.Unlock()
	if e.office != nil && e.office.Term == term && e.lease.Load() != nil {
		e.leave()
		e.keeper.log.Warn("lost the lease", "group", e.config.Name, "term", uint64(term), "why", why)
	}
}

// serve is one term in office, from the call of Lead to the release.
func (e *Elector) serve(o *office.Office, l *office.Lease) {
	k, t := e.keeper, e.keeper.config.Timing
	early, err := o.Serve(e.config.Lead)
	if early {
		k.log.Warn("lead returned early, resigning", "group", e.config.Name, "term", uint64(o.Term), "error", err)
	}
	e.lease.Store(nil)
	l.End()
	e.showLoss(o.Term)
	e.release(o.Term)
	k.mu.Lock()
	defer k.mu.Unlock()
	e.state, e.office = waits, nil
	if e.retiring {
		e.state = idle
	}
	e.patience = k.now() + 2*t.Poll
	e.seen = sighting{}
	close(e.vacated)
}

// release gives the lease back and wakes whoever waits for it. Should it fail,
// the lease runs out.
func (e *Elector) release(term memberstate.Term) {
	k, name := e.keeper, e.config.Name
	_, err := call(k, k.lanes[releasing], func(ctx context.Context) (struct{}, error) {
		if err := k.config.Store.Release(ctx, k.id, Held{name, term}); err != nil || k.waker == nil {
			return struct{}{}, err
		}
		return struct{}{}, k.waker.Wake(ctx, name)
	})
	if err != nil {
		k.log.Warn("the lease could not be released", "group", name, "term", uint64(term), "error", err)
	}
}
