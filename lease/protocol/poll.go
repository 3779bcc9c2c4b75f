// Looking: reading all leases that are not held, at intervals, and soon those that were
// released or have just been entered. A look only reads, with one call for each batch. Only
// one look is under way at a time.

package protocol

import (
	"slices"
	"time"
)

// look is the schedule of looks, and the look that is under way.
type look struct {
	at      time.Duration // the next look at all leases
	soon    time.Duration // the next look at woken leases; Never: none is woken
	soonest time.Duration // the earliest time for that
	woken   []*session

	reading    *call      // of the look under way; nil: none is
	everything bool       // it is a look at all leases
	rest       []*session // still to be read
}

// due returns when the next look begins. While one is under way, its end decides that.
func (l *look) due() time.Duration {
	if l.reading != nil {
		return Never
	}
	return min(l.at, l.soon)
}

// beginLooking draws the time of the first look at all leases.
func (k *Keeper) beginLooking() {
	k.look = look{at: k.now + k.fx.Draw(k.rules.Timing.pollWithin()), soon: Never, soonest: k.now}
	k.wakeBy(k.look.at)
}

// wakeUp makes the keeper look at a lease soon.
func (k *Keeper) wakeUp(s *session) {
	if !s.woken {
		s.woken = true
		k.look.woken = append(k.look.woken, s)
	}
	if k.look.reading == nil {
		k.lookSoon()
	}
}

// lookSoon draws the time of the next look at woken leases, unless it is already drawn: leases
// that are woken later must not put it off for ever.
func (k *Keeper) lookSoon() {
	if len(k.look.woken) > 0 && k.look.soon == Never {
		k.look.soon = max(k.now+k.sparsely(k.rules.Timing.lookWithin()), k.look.soonest)
		k.wakeBy(k.look.soon)
	}
}

// sparsely draws a wait that is rarely short: of many candidates that were woken at once, few
// look early, and the rest find the lease taken.
func (k *Keeper) sparsely(least, most time.Duration) time.Duration {
	return max(k.fx.Draw(least, most), k.fx.Draw(least, most), k.fx.Draw(least, most))
}

// lookDue begins a look that is due: at the woken leases, or at all.
func (k *Keeper) lookDue() {
	l := &k.look
	if l.reading != nil {
		return
	}
	if k.now >= l.soon {
		l.soon = Never
		if woken := watched(k.takeWoken()); len(woken) > 0 {
			l.soonest = k.now + k.rules.Timing.looksApart()
			l.everything, l.rest = false, woken
			k.readNext()
		}
	}
	if l.reading == nil && k.now >= l.at {
		k.takeWoken()
		l.everything, l.rest = true, watched(k.sessions)
		k.readNext()
	}
}

// takeWoken removes and returns the sessions that were woken since the last look.
func (k *Keeper) takeWoken() []*session {
	woken := k.look.woken
	k.look.woken = nil
	for _, s := range woken {
		s.woken = false
	}
	return woken
}

// watched returns those of the sessions that a look reads.
func watched(of []*session) (all []*session) {
	for _, s := range of {
		if s.phase == watching {
			all = append(all, s)
		}
	}
	return all
}

// readNext reads the next batch of the look under way, or ends the look.
func (k *Keeper) readNext() {
	l := &k.look
	if len(l.rest) == 0 {
		l.reading = nil
		if l.everything {
			l.at = k.now + k.fx.Draw(k.rules.Timing.pollWithin())
		}
		k.lookSoon()
		k.wakeBy(l.due())
		return
	}
	batch := l.rest[:min(len(l.rest), k.rules.Limits.Batch)]
	l.rest = l.rest[len(batch):]
	l.reading = &call{Call: Call{Kind: Read}, of: batch}
	k.place(l.reading, k.rules.Timing.Timeout)
}

// wantsRead leaves out sessions that no longer watch.
func (k *Keeper) wantsRead(c *call) bool {
	c.of = slices.DeleteFunc(c.of, func(s *session) bool { return s.phase != watching })
	if len(c.of) == 0 {
		k.readNext()
		return false
	}
	c.Names = make([]string, len(c.of))
	for i, s := range c.of {
		c.Names[i] = s.name
	}
	return true
}

// looked notes the records that were read, and queues claims for free leases.
func (k *Keeper) looked(c *call, a *Answer) {
	if c != k.look.reading {
		return // the keeper was idle meanwhile
	}
	k.came(Note{Kind: Read, Leases: len(c.of), Err: a.Err})
	if a.Err == nil {
		found := make(map[string]*Record, len(a.Records))
		for i := range a.Records {
			found[a.Records[i].Name] = &a.Records[i]
		}
		for _, s := range c.of {
			r := found[s.name]
			if r == nil {
				r = &Record{Name: s.name, Released: true}
			}
			if k.see(s, r) {
				k.queueClaim(s)
			}
		}
	}
	k.readNext()
}
