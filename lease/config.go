// What an embedding tells a keeper and its electors.

package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Timing holds the intervals of a keeper's leases. Candidates for one lease may have
// different ones. The fields are explained in package protocol.
type Timing = protocol.Timing

// DefaultTiming replaces a crashed leader four to seven seconds after the crash, up to
// eight if candidates are strict. A leader writes about every two seconds, and a
// candidate reads once or twice a second.
func DefaultTiming() Timing { return protocol.DefaultTiming() }

// KeeperConfig describes a candidate and the database that its leases are in.
type KeeperConfig struct {
	// Self is the readable name of this candidate, that of its host for example.
	// It need not be unique.
	Self string
	// Store has the leases.
	Store Store
	// Waker tells when a lease is released. Nil: the Store, if it is one.
	// Without one a candidate finds out when it looks next.
	Waker Waker
	// Timing holds the intervals.
	Timing Timing
	// Strict has this candidate take a lease over only when it has itself seen
	// it stand still for a TTL, on its own clock. Then nothing depends on the
	// database's clock, which may step; but a candidate that has just started
	// waits for a whole TTL, and takeover is within a TTL and two polls, not one.
	Strict bool
	// Logger is where changes and failures are told. Nil: failures alone, by
	// slog.Default(). Who wants silence gives one with slog.DiscardHandler.
	Logger *slog.Logger
}

// GroupConfig describes one lease, and the group of candidates that contend for it.
type GroupConfig struct {
	// Name is the name of the lease. Its candidates use the same one.
	Name string
	// Observer says that this one looks on, and never takes the lease.
	Observer bool
	// Lead serves while this candidate holds the lease, for one term. Its context
	// ends when the lease is lost or has run out; the term fences every write.
	// The lease is not renewed from then on, and released when Lead has returned.
	// If Lead returns while the context lives, or ends its goroutine by runtime.Goexit,
	// the candidate resigns. If Lead panics the process ends as of any panic, and the
	// lease runs out. Nil if the service watches Status instead.
	Lead func(ctx context.Context, term memberstate.Term) error
	// Handlers are told of every change that they have time for, and of the
	// latest in any case.
	Handlers []elector.RoleHandler
}

// complaints collects what is wrong with a configuration.
type complaints []error

func (c *complaints) add(field, format string, args ...any) {
	*c = append(*c, configError{elector.ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}})
}

// configError is an elector.ConfigError in the name of this package.
type configError struct{ of elector.ConfigError }

func (e configError) Error() string { return fmt.Sprintf("lease: %s %s", e.of.Field, e.of.Problem) }
func (e configError) Unwrap() error { return &e.of }

func (c *KeeperConfig) validate() error {
	var bad complaints
	bad.name("Self", c.Self, MaxSelf)
	if c.Store == nil {
		bad.add("Store", "is nil")
	}
	bad.timing(c.Timing)
	return errors.Join(bad...)
}

func (c *GroupConfig) validate() error {
	var bad complaints
	bad.name("Name", c.Name, MaxName)
	for i, h := range c.Handlers {
		if h == nil {
			bad.add("Handlers", "has nil at %d", i)
		}
	}
	return errors.Join(bad...)
}

// name says what is wrong with a name that goes into the database.
func (c *complaints) name(field, name string, most int) {
	switch {
	case name == "":
		c.add(field, "is empty")
	case len(name) > most:
		c.add(field, "has %d bytes, %d is the most", len(name), most)
	case !utf8.ValidString(name):
		c.add(field, "is not valid UTF-8: %q", name)
	}
	for _, r := range name {
		if r == 0 {
			c.add(field, "holds a zero byte, which not every database can keep")
			return
		}
	}
}

// timing says what is wrong with the intervals.
func (c *complaints) timing(t Timing) {
	valid := t.TTL - t.DriftMargin
	for _, f := range []struct {
		field string
		value time.Duration
	}{{"Timing.TTL", t.TTL}, {"Timing.Renew", t.Renew}, {"Timing.Poll", t.Poll}, {"Timing.Timeout", t.Timeout}} {
		if f.value < time.Millisecond {
			c.add(f.field, "is %v, a millisecond is the least", f.value)
		}
	}
	if t.TTL > maxTTL {
		c.add("Timing.TTL", "is %v, %v is the most", t.TTL, maxTTL)
	}
	if t.DriftMargin < time.Millisecond || t.DriftMargin >= t.TTL {
		c.add("Timing.DriftMargin", "is %v, with a TTL of %v; a millisecond is the least, for the clock of a database may be as coarse", t.DriftMargin, t.TTL)
	}
	if 2*t.Renew > valid {
		c.add("Timing.Renew", "is %v: not twice in %v, for which a lease is valid, so one failure would lose it", t.Renew, valid)
	}
}

// maxTTL keeps sums of times within what databases can hold.
const maxTTL = 365 * 24 * time.Hour
