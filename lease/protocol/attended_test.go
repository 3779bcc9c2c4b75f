// The stand of the tests of ability: a keeper with one lease, whose service vouches for it or does not.

package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// attended is a keeper with one lease, whose service vouches for it or does not. The database answers at
// once, and Lead returns at once, unless they are told to hang.
type attended struct {
	desk
	k         *Keeper
	now, next time.Duration
	record    Record        // as the database has it; its Left is ignored
	until     time.Duration // when it expires
	deaf      bool          // answers to claims are lost
	slow      bool          // they are late
	late      *Answer       // the one that is
	hangs     bool          // Lead does not return
	returning bool          // it is about to
	claims    []time.Duration
	ends      []time.Duration // of offices
	gone      bool            // the lease has ended
}

var timing = DefaultTiming()

// attend runs a candidate for a lease that is free, from some time on.
func attend(vouch time.Duration, change func(*Rules)) *attended {
	a := &attended{desk: desk{roulette: roulette{random: rand.New(rand.NewPCG(1, 1)), vouches: true}}, now: time.Hour}
	a.record = Record{Name: "g", Released: true}
	rules := Rules{ID: "a#1", Self: "a", Timing: timing, Limits: DefaultLimits()}
	if change != nil {
		change(&rules)
	}
	a.k = NewKeeper(rules)
	a.step(Enter{Name: "g", Vouch: vouch})
	return a
}

func (a *attended) Withdraw(string, memberstate.Term) {
	a.ends, a.returning = append(a.ends, a.now), true
}
func (a *attended) End(string) { a.gone = true }

// step has something happen, and answers all calls that follow.
func (a *attended) step(in Input) {
	a.next = a.k.Step(a.now, in, a)
	for len(a.calls) > 0 || a.returning && !a.hangs {
		if a.returning && !a.hangs {
			a.returning = false
			a.next = a.k.Step(a.now, Returned{Name: "g"}, a)
			continue
		}
		c := a.calls[0]
		a.calls = a.calls[1:]
		answer := a.answers(c)
		if a.slow && c.Kind == Acquire {
			a.late = answer
			continue
		}
		a.next = a.k.Step(a.now, answer, a)
	}
}

func (a *attended) answers(c Call) *Answer {
	answer, r := &Answer{Number: c.Number}, &a.record
	switch c.Kind {
	case Read:
		found := *r
		found.Left = a.until - a.now
		answer.Records = []Record{found}
	case Acquire:
		a.claims = append(a.claims, a.now)
		*r, a.until = Record{Name: "g", Term: r.Term + 1, Holder: c.Claim.Holder, TTL: timing.TTL}, a.now+timing.TTL
		if answer.Won = !a.deaf; a.deaf {
			answer.Err = assert.AnError
		}
	case Renew:
		r.Renewals++
		answer.Kept, a.until = []string{"g"}, a.now+timing.TTL
	case Release:
		r.Holder, r.Released = "", true
	case Wake, Listen:
	}
	return answer
}

// after lets time pass, and returns why the candidate is not able then.
func (a *attended) after(d time.Duration) Inability {
	for until := a.now + d; ; {
		if a.next > until {
			a.now = until
			break
		}
		a.now = max(a.now, a.next)
		a.step(Tick{})
	}
	a.step(Tick{})
	return a.view().Inability
}

func (a *attended) view() View { return a.k.sessions[0].view }

func (a *attended) leads() bool { return a.view().Role == memberstate.Leader }

// taken has another candidate hold the lease from now on, for good or until it is freed.
func (a *attended) taken() {
	a.record = Record{Name: "g", Term: a.record.Term + 1, Holder: "b#1", TTL: timing.TTL}
	a.until = a.now + 1000*time.Hour
}

// freed has the other candidate release it.
func (a *attended) freed() { a.record.Holder, a.record.Released = "", true }

// firstLook passes until the lease was looked at.
func (a *attended) firstLook(t *testing.T) {
	t.Helper()
	for end := a.now + time.Minute; a.k.sessions[0].seen.Name == ""; a.after(time.Millisecond) {
		require.Less(t, a.now, end)
	}
}

const vouch = 5 * time.Second

// following is an attended candidate of a lease that another one holds, with a service that does not vouch any
// more from now on.
func following() *attended {
	a := attend(vouch, nil)
	a.taken()
	a.after(time.Minute)
	a.vouches = false
	return a
}
