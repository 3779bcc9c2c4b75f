// Renewing: all held leases, at intervals, with one call for each batch; and again, sooner,
// those whose renewal was not answered. Renewals do not wait for answers, because a call that
// hangs or is repeated must not delay the renewal of other leases.

package protocol

import (
	"errors"
	"slices"
	"time"
)

// renewal is the schedule of renewals.
type renewal struct {
	at         time.Duration // when leases that are due are renewed
	everything time.Duration // when all leases become due
}

// beginRenewing draws the time of the first renewal.
func (k *Keeper) beginRenewing() {
	k.renewal.everything = k.now + k.fx.Draw(k.rules.Timing.renewWithin(true))
	k.renewNext()
}

// renewNext draws the time of the next renewals.
func (k *Keeper) renewNext() {
	r := &k.renewal
	r.at = min(r.everything, k.now+k.fx.Draw(k.rules.Timing.renewWithin(false)))
	k.wakeBy(r.at)
}

// renewDue sends the renewals that are due. A lease has only one renewal under way, because its
// end counts from when the last one was sent: an answer to an earlier one must not extend the
// lease from then.
func (k *Keeper) renewDue() {
	r := &k.renewal
	if k.now < r.at {
		return
	}
	all := k.now >= r.everything
	if all {
		r.everything = k.now + k.fx.Draw(k.rules.Timing.renewWithin(true))
	}
	var due []*session
	for _, s := range k.sessions {
		if s.phase != serving {
			continue
		}
		o := &s.office
		if o.due = o.due || all; o.due && !o.renewing {
			o.due, o.renewing = false, true
			due = append(due, s)
		}
	}
	for batch := range slices.Chunk(due, k.rules.Limits.Batch) {
		c := &call{Call: Call{Kind: Renew, Held: make([]Held, len(batch))}, of: batch}
		for i, s := range batch {
			c.Held[i] = s.held()
		}
		k.place(c, k.rules.Timing.Timeout)
	}
	k.renewNext()
}

// wantsRenewal leaves out leases that are no longer held.
func (k *Keeper) wantsRenewal(c *call) bool {
	of, held := c.of, c.Held
	c.of, c.Held = of[:0], held[:0] // in place, because the loop reads ahead of what it writes
	for i, s := range of {
		if s.phase == serving && s.held() == held[i] {
			s.asked = k.now
			c.of, c.Held = append(c.of, s), append(c.Held, held[i])
		}
	}
	return len(c.of) > 0
}

// renewed applies an answer to each lease. A lease that the answer does not list is lost, unless
// it was left out as locked. The state of a lease that was left out, or was not answered, is not
// known, and it keeps its old end.
func (k *Keeper) renewed(c *call, a *Answer) {
	answered, kept, leftOut := a.Err == nil, set(a.Kept), map[string]bool(nil)
	if locked, is := errors.AsType[*LockedError](a.Err); is {
		answered, leftOut = true, set(locked.Names)
	}
	for i, s := range c.of {
		switch {
		case s.phase != serving || s.held() != c.Held[i]:
		case !answered || leftOut[s.name]:
			s.office.due, s.office.renewing = true, false
		case !kept[s.name]:
			k.leave(s, takenAway)
		default:
			s.office.renewing = false
			k.extend(s)
		}
	}
	k.came(Note{Kind: Renew, Leases: len(c.of), Err: a.Err})
}

// extend extends the lease, unless it has expired.
func (k *Keeper) extend(s *session) {
	if k.now >= s.office.until {
		k.leave(s, ranOut)
		return
	}
	if end := k.end(s); end > s.office.until {
		s.office.until = end
		k.fx.Hold(s.name, s.view.Term, end)
	}
}

func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}
