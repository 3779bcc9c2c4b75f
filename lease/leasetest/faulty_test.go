// Stores with one fault each, which Run must reject.

package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// fault is a way to break the contract, and the test that finds it.
type fault struct {
	found string
	build func(m *mem.Store, s *Subject)
}

// breaks is a fault of the store itself.
func breaks(found string, spoil func(m *mem.Store, s *store)) fault {
	return fault{found, func(m *mem.Store, subject *Subject) {
		s := over(m)
		spoil(m, s)
		subject.Store = s
	}}
}

const (
	history = "every history is linearizable"
	late    = "statements that are late by a TTL change nothing"
)

var faults = map[string]fault{
	"steals a live lease":             breaks("a live lease is not taken", steal),
	"steals a live lease at times":    breaks(history, stealAtTimes),
	"wins a claim in any term":        breaks("a claim in another term does nothing", forgiveTerms),
	"wins twice by one claim":         breaks("statements may be executed twice", winTwice),
	"tells losers that they won":      breaks(history, tellLosers),
	"looks, and then writes":          breaks("of many claims one succeeds", lookAndWrite),
	"asks the clock when watched":     breaks("a watched claim uses no clock", askTheClock),
	"believes the clock when watched": breaks("the clock may step", askTheClock),
	"refuses the holder":              breaks("a holder can claim its lease again", refuseTheHolder),
	"lasts too long":                  breaks("an expired lease is taken", lastTooLong),
	"counts in seconds":               breaks("time is finer than a second", countInSeconds),
	"renews another's":                breaks("only held leases are renewed", renewAnothers),
	"does not count renewals":         breaks("renewals within a second are kept", renewNothing),
	"does not prolong":                breaks("a renewal lasts a TTL", renewNothing),
	"renews nothing":                  breaks(history, renewNothing),
	"gives up what ran out":           breaks("an expired lease that was not taken is renewed", giveUpWhatRanOut),
	"renews the first hundred":        breaks("ten thousand leases are renewed at once", renewTheFirst),
	"releases another's":              breaks("only the holder releases", releaseAnothers),
	"releases in old terms":           breaks("statements may be executed late", releaseAnothers),
	"forgets the term":                breaks("a released lease is free", forgetTheTerm),
	"keeps what is released":          breaks("a released lease is free", keepIt),
	"forces without end":              breaks("a forced lease is released by its holder", keepForced),
	"forces and frees":                breaks("forcing does not shorten the lease", forceAndFree),
	"forgets the heir":                breaks("forcing ends the term", forgetTheHeir),
	"forces what it knows":            breaks("an unknown lease can be forced", forceTheKnown),
	"makes no record":                 breaks("the first claim makes the record", hideRecords),
	"takes names for the same":        breaks("names are compared byte by byte", ignoreCase),
	"takes holders for the same":      breaks("holders are compared byte by byte", cutHolders),
	"lists some":                      breaks("all leases are listed", listSome),
	"works for who has gone":          breaks("an ended context is an error", ignoreContexts),
	"lists for who has gone":          breaks("an ended context is an error", listNothing),
	"lets all who have gone win":      breaks("an ended context is an error", winWithError),

	"renews one by one": {"renewals share statements", func(m *mem.Store, s *Subject) {
		counted, n := counting(m)
		s.Store, s.Statements = oneByOne{counted}, n
	}},
	"waits for ever": {"a silent database delays no method beyond its context", func(m *mem.Store, s *Subject) {
		s.Far = func() Far {
			w := newWay()
			return Far{over(m).after(func(context.Context) error { <-w.opened(); return nil }), w.hold, w.resume}
		}
	}},
	"renews late":   lately(renewAnothers),
	"releases late": lately(releaseAnothers),
	"claims late":   lately(func(m *mem.Store, far *store) { forgiveTerms(m, far); steal(m, far) }),
}

// lately is a fault that only late statements have.
func lately(spoil func(*mem.Store, *store)) fault {
	return fault{late, func(m *mem.Store, s *Subject) {
		s.Far = func() Far {
			w, far := newWay(), over(m)
			spoil(m, far)
			return Far{far.after(w.pass), w.hold, w.resume}
		}
	}}
}

func steal(m *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		c.Watched, c.Renewals = true, recordOf(m, c.Name).Renewals
		return acquire(ctx, c)
	}
}

func stealAtTimes(m *mem.Store, s *store) {
	honest := s.acquire
	steal(m, s)
	thief := s.acquire
	var n atomic.Int64
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		if !c.Watched && n.Add(1)%3 == 0 {
			return thief(ctx, c)
		}
		return honest(ctx, c)
	}
}

func forgiveTerms(m *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		c.Term = recordOf(m, c.Name).Term
		return acquire(ctx, c)
	}
}

func winTwice(m *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		won, err := acquire(ctx, c)
		r := recordOf(m, c.Name)
		return won || r.Holder == c.Holder && r.Term == c.Term+1, err
	}
}

func tellLosers(_ *mem.Store, s *store) {
	acquire := s.acquire
	var n atomic.Int64
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		won, err := acquire(ctx, c)
		return won || err == nil && n.Add(1)%5 == 0, err
	}
}

// lookAndWrite is a store that takes two steps: it reads, and writes some time later.
func lookAndWrite(m *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		if recordOf(m, c.Name).Term != c.Term {
			return false, nil
		}
		pause()
		r := recordOf(m, c.Name)
		c.Term, c.Renewals = r.Term, r.Renewals
		return acquire(ctx, c)
	}
}

func askTheClock(_ *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		c.Watched = false
		return acquire(ctx, c)
	}
}

func refuseTheHolder(m *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		if recordOf(m, c.Name).Holder == c.Holder {
			return false, nil
		}
		return acquire(ctx, c)
	}
}

func lastTooLong(_ *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		c.TTL += 10 * grain
		return acquire(ctx, c)
	}
}

func countInSeconds(_ *mem.Store, s *store) {
	rows(s, func(r *lease.Record) { r.Left = r.Left.Round(time.Second) })
}

func renewAnothers(m *mem.Store, s *store) {
	renew := s.renew
	s.renew = func(ctx context.Context, _ string, held []lease.Held) (kept []string, err error) {
		for _, h := range held {
			r := recordOf(m, h.Name)
			more, err := renew(ctx, r.Holder, []lease.Held{{Name: h.Name, Term: r.Term}})
			if err != nil {
				return nil, err
			}
			kept = append(kept, more...)
		}
		return kept, nil
	}
}

func renewNothing(m *mem.Store, s *store) {
	s.renew = func(_ context.Context, holder string, held []lease.Held) (kept []string, err error) {
		for _, h := range held {
			if r := recordOf(m, h.Name); r.Holder == holder && r.Term == h.Term {
				kept = append(kept, h.Name)
			}
		}
		return kept, nil
	}
}

func giveUpWhatRanOut(m *mem.Store, s *store) {
	renew := s.renew
	s.renew = func(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
		held = slices.DeleteFunc(slices.Clone(held), func(h lease.Held) bool { return recordOf(m, h.Name).Left <= 0 })
		return renew(ctx, holder, held)
	}
}

func renewTheFirst(_ *mem.Store, s *store) {
	renew := s.renew
	s.renew = func(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
		return renew(ctx, holder, held[:min(100, len(held))])
	}
}

func releaseAnothers(m *mem.Store, s *store) {
	release := s.release
	s.release = func(ctx context.Context, _ string, h lease.Held) error {
		r := recordOf(m, h.Name)
		return release(ctx, r.Holder, lease.Held{Name: h.Name, Term: r.Term})
	}
}

// forgetTheTerm is a store whose terms begin anew when a lease is released.
func forgetTheTerm(m *mem.Store, s *store) {
	forgotten := map[string]memberstate.Term{}
	release := s.release
	s.release = func(ctx context.Context, holder string, h lease.Held) error {
		forgotten[h.Name] = recordOf(m, h.Name).Term
		return release(ctx, holder, h)
	}
	rows(s, func(r *lease.Record) { r.Term -= forgotten[r.Name] })
}

func keepIt(_ *mem.Store, s *store) {
	s.release = func(context.Context, string, lease.Held) error { return nil }
}

func keepForced(m *mem.Store, s *store) {
	release := s.release
	s.release = func(ctx context.Context, holder string, h lease.Held) error {
		if recordOf(m, h.Name).Holder == "" {
			return nil
		}
		return release(ctx, holder, h)
	}
}

func forceAndFree(m *mem.Store, s *store) {
	force := s.force
	s.force = func(ctx context.Context, name, heir string) error {
		r := recordOf(m, name)
		return errors.Join(force(ctx, name, heir), m.Release(ctx, r.Holder, lease.Held{Name: name, Term: r.Term}))
	}
}

func forgetTheHeir(_ *mem.Store, s *store) { rows(s, func(r *lease.Record) { r.Heir = "" }) }

func forceTheKnown(m *mem.Store, s *store) {
	force := s.force
	s.force = func(ctx context.Context, name, heir string) error {
		if recordOf(m, name).Term == 0 {
			return fmt.Errorf("there is no lease %q", name)
		}
		return force(ctx, name, heir)
	}
}

func hideRecords(_ *mem.Store, s *store) {
	s.read = func(context.Context, []string) ([]lease.Record, error) { return nil, nil }
}

func ignoreCase(_ *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		c.Name = strings.ToLower(c.Name)
		return acquire(ctx, c)
	}
}

func cutHolders(_ *mem.Store, s *store) {
	acquire, renew := s.acquire, s.renew
	cut := func(holder string) string { return holder[:min(100, len(holder))] }
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		c.Holder = cut(c.Holder)
		return acquire(ctx, c)
	}
	s.renew = func(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
		return renew(ctx, cut(holder), held)
	}
}

func listSome(_ *mem.Store, s *store) {
	names := s.names
	s.names = func(ctx context.Context) ([]string, error) {
		all, err := names(ctx)
		return all[1:], err
	}
}

func winWithError(_ *mem.Store, s *store) {
	acquire := s.acquire
	s.acquire = func(ctx context.Context, c lease.Claim) (bool, error) {
		won, err := acquire(ctx, c)
		return won || err != nil, err
	}
}

func listNothing(_ *mem.Store, s *store) {
	names := s.names
	s.names = func(ctx context.Context) ([]string, error) {
		all, _ := names(ctx)
		return all, nil
	}
}

func ignoreContexts(m *mem.Store, s *store) {
	s.release = func(ctx context.Context, holder string, h lease.Held) error {
		return m.Release(context.WithoutCancel(ctx), holder, h)
	}
}

// oneByOne sends a statement for each lease.
type oneByOne struct{ *store }

func (o oneByOne) Renew(ctx context.Context, holder string, held []lease.Held) (kept []string, err error) {
	for _, h := range held {
		more, err := o.store.Renew(ctx, holder, []lease.Held{h})
		if err != nil {
			return nil, err
		}
		kept = append(kept, more...)
	}
	return kept, nil
}
