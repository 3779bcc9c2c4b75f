// This file has the database of a world of leases, and the network to it. The database is the
// store of package lease/mem, which has no faults; line and ask add them.

package shell

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

var errDatabase = errors.New("the database fails on purpose")

// database holds the leases.
type database struct {
	store mem.Store

	mu      sync.Mutex
	stalled time.Time            // until then it does nothing, and then everything at once
	locked  map[string]time.Time // until when another client keeps each record locked
	copied  []lease.Record       // a copy that may be behind
	at      time.Time            // when the copy was made
}

// now is the record of a lease at this moment.
func (d *database) now(name string) lease.Record {
	found, _ := d.store.Read(context.Background(), []string{name}) // it cannot fail
	if len(found) == 0 {
		return lease.Record{Name: name, Released: true}
	}
	return found[0]
}

// await waits until the database is not stalled.
func (d *database) await(w *leaseWorld) {
	d.mu.Lock()
	until := d.stalled
	d.mu.Unlock()
	w.sleepInTrouble(time.Until(until))
}

// keeps says whether another client keeps a record locked.
func (d *database) keeps(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Before(d.locked[name])
}

// copy brings the copy up to date.
func (d *database) copy(names []string) {
	found, _ := d.store.Read(context.Background(), names) // it cannot fail
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copied, d.at = found, time.Now()
}

// stale returns the copy's records of some leases.
func (d *database) stale(names []string) (found []lease.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.copied {
		if slices.Contains(names, r.Name) {
			r.Left -= time.Since(d.at)
			found = append(found, r)
		}
	}
	return found
}

// line is a candidate's connection to the database. It converts times, because a candidate with a
// fast clock has shorter intervals, see scaled.
type line struct{ candidate *candidate }

var _ lease.Store = line{}

func (l line) world() *leaseWorld  { return l.candidate.world() }
func (l line) database() *database { return &l.world().database }

func (l line) toDatabase(d time.Duration) time.Duration {
	return time.Duration(float64(d) * l.candidate.node.rate / l.world().plan.rate)
}

func (l line) fromDatabase(d time.Duration) time.Duration {
	return time.Duration(float64(d) * l.world().plan.rate / l.candidate.node.rate)
}

// Read, Acquire, Renew, Release and Force make it a [lease.Store].
func (l line) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	return ask(ctx, l.candidate, func() ([]lease.Record, error) {
		found, err := l.database().store.Read(context.Background(), names)
		if w := l.world(); !w.isCalm() && w.chance(12) {
			w.judge.struck(StaleRead)
			found = l.database().stale(names)
		}
		for i := range found {
			r := &found[i]
			r.TTL = l.fromDatabase(r.TTL)
			if r.Left != lease.LeftUnknown {
				r.Left = l.fromDatabase(r.Left)
			}
		}
		return found, err
	})
}

func (l line) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	c.TTL = l.toDatabase(c.TTL)
	won, err := ask(ctx, l.candidate, func() (bool, error) {
		won, err := l.database().store.Acquire(context.Background(), c)
		if won {
			l.world().judge.won(c.Name, c.Term+1, c.Holder)
		}
		return won, err
	})
	if err != nil {
		l.world().judge.meets(ClaimUnanswered)
	}
	return won, err
}

func (l line) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	return ask(ctx, l.candidate, func() ([]string, error) {
		var mine []lease.Held
		var locked []string
		for _, h := range held {
			if l.database().keeps(h.Name) {
				locked = append(locked, h.Name)
			} else {
				mine = append(mine, h)
			}
		}
		kept, err := l.database().store.Renew(context.Background(), holder, mine)
		if len(kept) < len(mine) {
			l.world().judge.meets(LeaseTaken)
		}
		if len(locked) > 0 {
			err = &lease.LockedError{Names: locked}
		}
		return kept, err
	})
}

func (l line) Release(ctx context.Context, holder string, held lease.Held) error {
	l.world().judge.releases(l.candidate, held)
	_, err := ask(ctx, l.candidate, func() (struct{}, error) {
		return struct{}{}, l.database().store.Release(context.Background(), holder, held)
	})
	if err != nil {
		l.world().judge.meets(NotReleased)
	} else {
		l.world().judge.gaveBack(l.candidate, held)
	}
	return err
}

// Force fails, because operators do not use a candidate's connection.
func (line) Force(context.Context, string, string) error { return errDatabase }

// waker tells candidates which leases were released.
type waker struct{ line }

// Wake and Listen make it a [lease.Waker].
func (k waker) Wake(ctx context.Context, name string) error {
	_, err := ask(ctx, k.candidate, func() (struct{}, error) {
		return struct{}{}, k.database().store.Wake(context.Background(), name)
	})
	return err
}

func (k waker) Listen(ctx context.Context, woken func(name string)) error {
	c := k.candidate
	defer k.world().judge.asks(ctx, c, false)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := make(chan string, 100)
	k.world().work.Go(func() {
		_ = k.database().store.Listen(ctx, func(name string) {
			select {
			case heard <- name:
			default: // a waker may lose names
			}
		})
	})
	for {
		select {
		case name := <-heard:
			k.world().travel(0)
			if !c.isCut() {
				woken(name)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-c.hungUp():
			return errDatabase
		case <-c.died:
			return errDied
		}
	}
}

// fate lists the faults that strike one statement.
type fate struct {
	fails, lost, twice, unanswered bool
	there, back, again, hangs      time.Duration
}

// fate draws the faults of a statement. Most statements have none.
func (w *leaseWorld) fate(c *candidate) (f fate) {
	if w.isCalm() {
		return f
	}
	ttl := w.plan.longest.TTL
	if c.isCut() {
		f.lost, f.unanswered = w.chance(2), true
	}
	struck := func(one uint64, kind Fault) bool {
		strikes := w.chance(one)
		if strikes {
			w.judge.struck(kind)
		}
		return strikes
	}
	if struck(12, SlowLink) {
		f.there, f.back = w.drawn(ttl)>>(w.drawn64()%6), w.drawn(ttl)>>(w.drawn64()%6)
	}
	f.lost = f.lost || struck(24, LostQuestion)
	f.unanswered = f.unanswered || struck(24, LostAnswer)
	f.fails = struck(24, Refused)
	if struck(24, Late) {
		f.there = w.drawn(2 * ttl)
	}
	if f.twice = struck(24, Twice); f.twice {
		f.again = w.drawn(2*ttl) >> (w.drawn64() % 8)
	}
	if struck(24, HangingDriver) {
		f.hangs = w.drawn(2 * ttl)
	}
	return f
}

// answer is the answer to a statement.
type answer[T any] struct {
	value T
	err   error
}

// ask makes the database carry out a statement, and waits for the answer until the context ends.
// A statement that is in transit then still arrives.
func ask[T any](ctx context.Context, c *candidate, do func() (T, error)) (none T, err error) {
	w := c.world()
	defer w.judge.asks(ctx, c, true)()
	c.standStill()
	f, answers := w.fate(c), make(chan answer[T], 1)
	if c.isDead() {
		return none, errDied
	}
	w.work.Go(func() {
		w.travel(f.there)
		if f.lost {
			return
		}
		w.database.await(w)
		var a answer[T]
		if a.err = errDatabase; !f.fails {
			a.value, a.err = do()
		}
		if f.twice {
			w.work.Go(func() {
				w.travel(f.again)
				_, _ = do() // the second answer goes nowhere
			})
		}
		w.travel(f.back)
		if !f.unanswered {
			answers <- a
		}
	})
	select {
	case a := <-answers:
		c.standStill()
		if c.isDead() {
			return none, errDied
		}
		return a.value, a.err
	case <-c.died:
		return none, errDied
	case <-ctx.Done():
		w.sleepInTrouble(f.hangs)
		return none, ctx.Err()
	}
}
