// A contest: two candidates for one lease, of which the first leads.

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/lease"
)

// timing is the configuration of both sides.
type timing struct {
	ttl, renew time.Duration
	// poll is the interval of a follower's polls; zero: that of a leader's renewals.
	poll time.Duration
	// patience is the time-out of a call; zero: in proportion to each side's default.
	patience time.Duration
}

// brief is the timing of most measurements. The peer's followers only see whole seconds of a
// renewal's time, so a shorter TTL would mainly measure this rounding.
var brief = timing{ttl: 2 * time.Second, renew: 500 * time.Millisecond}

// side is one of the compared elections.
type side struct {
	name   string
	server bool // it uses the server
	// found makes a database, which candidates can enter.
	found func() (enter, error)
}

// enter lets a candidate take part until the context ends.
type enter func(ctx context.Context, e entry) (*candidate, error)

// entry describes a candidate that enters.
type entry struct {
	number int
	timing timing
	deaf   bool // see link
	record *record
}

// candidate is a running candidate.
type candidate struct {
	connection

	leave context.CancelFunc
	gone  chan struct{}
}

// takePart runs a candidate.
func takePart(ctx context.Context, c connection, run func(context.Context)) *candidate {
	ctx, leave := context.WithCancel(ctx)
	running := &candidate{c, leave, make(chan struct{})}
	go func() {
		defer close(running.gone)
		run(ctx)
	}()
	return running
}

func (c *candidate) end() error {
	c.leave()
	err := c.close()
	<-c.gone
	return err
}

// contest is a contest for one lease.
type contest struct {
	timing     timing
	record     *record
	candidates []*candidate
}

const (
	first = iota
	second
)

// errPatience ends a contest that takes longer than any that does not fail.
var errPatience = errors.New("the contest takes too long")

func (t timing) bearable(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 20*t.ttl, errPatience)
}

// contend lets two candidates take part, and returns when the first has led for a while and the
// second has seen it, at a random moment with respect to polls.
func contend(ctx context.Context, s side, t timing, deaf bool) (*contest, error) {
	enter, err := s.found()
	if err != nil {
		return nil, err
	}
	c := &contest{timing: t, record: newRecord()}
	for number := range 2 {
		one, err := enter(context.WithoutCancel(ctx), entry{number, t, deaf, c.record})
		if err != nil {
			return nil, errors.Join(err, c.end())
		}
		c.candidates = append(c.candidates, one)
		if number == first {
			bearable, cancel := t.bearable(ctx)
			_, err = c.record.await(bearable, leads(first))
			cancel()
		} else {
			err = sleep(ctx, 2*t.renew+rand.N(2*t.renew))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: candidate %d: %w", s.name, number, err), c.end())
		}
	}
	return c, nil
}

func (c *contest) end() error {
	var problems []error
	for _, one := range c.candidates {
		problems = append(problems, one.end())
	}
	return errors.Join(problems...)
}

// succeeded waits until the second candidate leads, and returns since when.
func (c *contest) succeeded(ctx context.Context) (time.Time, error) {
	ctx, cancel := c.timing.bearable(ctx)
	defer cancel()
	all, err := c.record.await(ctx, leads(second))
	for _, o := range all {
		if o.candidate == second {
			return o.began, nil
		}
	}
	return time.Time{}, err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ours converts the timing to a lease.Timing.
func (t timing) ours() lease.Timing {
	l := lease.Timing{TTL: t.ttl, Renew: t.renew, Poll: t.poll, Timeout: t.patience, DriftMargin: t.ttl / 100}
	if l.Poll == 0 {
		l.Poll = t.renew
	}
	if l.Timeout == 0 {
		l.Timeout = t.renew
	}
	return l
}
