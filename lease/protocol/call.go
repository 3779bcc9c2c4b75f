// Calls: how many of a kind are under way, and how long each may take. No answer is waited for
// longer than the time-out, whatever a driver does, and no kind of call waits for another.

package protocol

import (
	"errors"
	"slices"
	"time"
)

// call is under way, or waits for its turn.
type call struct {
	Call
	of       []*session    // the sessions that it is for; Renew: in the order of Held
	deadline time.Duration // the end of the wait for its turn, or for its answer
	givenUp  bool          // its answer is no longer waited for
}

// lane holds the calls of one kind. A call that was given up keeps its place until it is
// answered, because its connection is in use.
type lane struct {
	underWay int
	waiting  []*call
}

// calls are all calls.
type calls struct {
	last     uint64 // the latest number
	lanes    [kinds]lane
	underWay []*call
}

var (
	errNoAnswer = errors.New("no answer within the time-out")
	errBusy     = errors.New("too many earlier calls have not returned")
)

// place makes a call when it is its turn, or gives it up if it has to wait longer than
// patience.
func (k *Keeper) place(c *call, patience time.Duration) {
	l := &k.calls.lanes[c.Kind]
	switch {
	case l.underWay < k.rules.Limits.Calls[c.Kind]:
		k.send(c)
	case patience <= 0:
		k.over(c, &Answer{Err: errBusy})
	default:
		c.deadline = later(k.now, patience)
		l.waiting = append(l.waiting, c)
		k.wakeBy(c.deadline)
	}
}

// send makes a call, if it is still wanted.
func (k *Keeper) send(c *call) {
	if !k.wanted(c) {
		return
	}
	k.calls.last++
	k.calls.lanes[c.Kind].underWay++
	k.calls.underWay = append(k.calls.underWay, c)
	c.Number, c.deadline = k.calls.last, Never
	if c.Kind != Listen {
		c.Timeout = k.rules.Timing.Timeout
		c.deadline = k.now + c.Timeout
		k.wakeBy(c.deadline)
	}
	k.fx.Call(&c.Call)
}

// wanted prepares a call for sending, because things may have changed while it waited, and
// reports whether it is still needed. Leases that it asks for count from now.
func (k *Keeper) wanted(c *call) bool {
	switch c.Kind {
	case Read:
		return k.wantsRead(c)
	case Acquire:
		return k.wantsClaim(c)
	case Renew:
		return k.wantsRenewal(c)
	case Release, Wake, Listen:
	}
	return true
}

// answered handles an answer, and sends the next calls of that kind.
func (k *Keeper) answered(a *Answer) {
	i := slices.IndexFunc(k.calls.underWay, func(c *call) bool { return c.Number == a.Number })
	if i < 0 {
		return
	}
	c := k.calls.underWay[i]
	k.calls.underWay = slices.Delete(k.calls.underWay, i, i+1)
	l := &k.calls.lanes[c.Kind]
	l.underWay--
	if !c.givenUp {
		k.over(c, a)
	}
	for len(l.waiting) > 0 && l.underWay < k.rules.Limits.Calls[c.Kind] {
		next := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		k.send(next)
	}
	k.nextClaims()
}

// expire gives up calls that have waited for too long.
func (k *Keeper) expire() {
	if k.now < k.calls.due() {
		return
	}
	for _, c := range slices.Clone(k.calls.underWay) {
		if k.now >= c.deadline {
			c.deadline, c.givenUp = Never, true
			k.over(c, &Answer{Err: errNoAnswer})
		}
	}
	for kind := range k.calls.lanes {
		l := &k.calls.lanes[kind]
		var impatient []*call
		l.waiting = slices.DeleteFunc(l.waiting, func(c *call) bool {
			if k.now < c.deadline {
				return false
			}
			impatient = append(impatient, c)
			return true
		})
		for _, c := range impatient {
			k.over(c, &Answer{Err: errBusy})
		}
	}
	k.nextClaims()
}

// due returns when the first call will have waited for too long.
func (c *calls) due() time.Duration {
	at := Never
	for _, one := range c.underWay {
		at = min(at, one.deadline)
	}
	for kind := range c.lanes {
		for _, one := range c.lanes[kind].waiting {
			at = min(at, one.deadline)
		}
	}
	return at
}

// forget drops the calls that wait for their turn.
func (c *calls) forget() {
	for kind := range c.lanes {
		c.lanes[kind].waiting = nil
	}
}

// over passes a call's answer to the code that asked for it.
func (k *Keeper) over(c *call, a *Answer) {
	switch c.Kind {
	case Read:
		k.looked(c, a)
	case Acquire:
		k.claimed(c, a)
	case Renew:
		k.renewed(c, a)
	case Release:
		k.released(c, a.Err)
	case Wake:
		k.woke(c, a.Err)
	case Listen:
		k.listened(a.Err)
	}
}

// later returns now+wait, or Never.
func later(now, wait time.Duration) time.Duration {
	if wait == Never {
		return Never
	}
	return now + wait
}
