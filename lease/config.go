// The configuration of a keeper and its electors.

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

// KeeperConfig describes a candidate and the database that keeps its leases.
type KeeperConfig struct {
	// Self is a readable name for this candidate, for example that of its host.
	// It need not be unique.
	Self string
	// Store keeps the leases.
	Store Store
	// Waker wakes candidates when a lease is released. Nil: the Store, if it is a
	// Waker. Without one a candidate notices at its next poll.
	Waker Waker
	// Timing holds the intervals.
	Timing Timing
	// Strict lets this candidate take over a lease only after it has itself seen
	// the lease unchanged for a TTL, by its own clock. Then safety does not depend
	// on the database's clock, which may step. In return a candidate that has just
	// started waits for a whole TTL, and a takeover takes a TTL and two polls, not
	// one.
	Strict bool
	// Stalled names the leases whose services cannot work, for a process that knows that of all its services in one
	// place. It is called about once a Renew, whatever the number of leases, and never twice at a time; its context
	// ends after a TTL. What is said of GroupConfig.Healthy holds for every lease that it names. If it does not return
	// within a TTL, this candidate is not able to lead with any lease. Nil if there is no such function.
	Stalled func(ctx context.Context) []string
	// Logger logs changes and failures. Nil: only failures, to slog.Default().
	// For silence, use slog.DiscardHandler.
	Logger *slog.Logger
}

// GroupConfig describes one lease, and the group of candidates that contend for it.
type GroupConfig struct {
	// Name is the name of the lease. Its candidates use the same one.
	Name string
	// Observer says that this candidate only watches, and never takes the lease.
	Observer bool
	// Lead serves while this candidate holds the lease, for one term. Its context
	// ends when the lease is lost or has expired; the term fences every write.
	// From then on the lease is not renewed; it is released when Lead has returned.
	// If Lead returns before its context ends, or ends its goroutine by
	// runtime.Goexit, the candidate resigns. If Lead panics, the process ends as
	// with any panic, and the lease expires. Nil if the service watches Status
	// instead.
	Lead func(ctx context.Context, term memberstate.Term) error
	// Vouch binds leading to the service's ability to work. If it is positive, the service
	// vouches for itself: it calls Elector.Alive, or answers Healthy. Its word counts for
	// this long, at least two Renews; a TTL is a good value. A leader whose service does
	// not vouch for it releases the lease, and takes it again only if nobody else does.
	// See "A service that cannot work" in the package documentation. Zero: it need not.
	Vouch time.Duration
	// Healthy returns nil if the service is able to lead, and why if it is not. It is
	// called about once a Renew, never twice at a time, and its context ends after Vouch.
	// It needs Vouch; nil if the service calls Alive, or need not vouch.
	Healthy func(ctx context.Context) error
	// Handlers are called with every change. A slow handler skips changes, but
	// never the latest one.
	Handlers []elector.RoleHandler
}

// complaints collects the problems of a configuration.
type complaints []error

func (c *complaints) add(field, format string, args ...any) {
	*c = append(*c, configError{elector.ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}})
}

// configError is an elector.ConfigError whose text names this package.
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

// validate checks the configuration for a keeper with these intervals.
func (c *GroupConfig) validate(t Timing) error {
	var bad complaints
	bad.name("Name", c.Name, MaxName)
	switch {
	case c.Vouch < 0:
		bad.add("Vouch", "is negative: %v", c.Vouch)
	case c.Vouch > longest:
		bad.add("Vouch", "is %v, want at most %v", c.Vouch, longest)
	case c.Vouch > 0 && c.Vouch < 2*t.Renew:
		bad.add("Vouch", "is %v, want at least two Renews of %v, because the service is asked once in a Renew", c.Vouch, t.Renew)
	case c.Vouch == 0 && c.Healthy != nil:
		bad.add("Vouch", "is zero, but Healthy is set: it says how long an answer counts")
	}
	for i, h := range c.Handlers {
		if h == nil {
			bad.add("Handlers", "has nil at %d", i)
		}
	}
	return errors.Join(bad...)
}

// name checks a name that goes into the database.
func (c *complaints) name(field, name string, most int) {
	switch {
	case name == "":
		c.add(field, "is empty")
	case len(name) > most:
		c.add(field, "has %d bytes, want at most %d", len(name), most)
	case !utf8.ValidString(name):
		c.add(field, "is not valid UTF-8: %q", name)
	}
	for _, r := range name {
		if r == 0 {
			c.add(field, "contains a zero byte, which some databases cannot store")
			return
		}
	}
}

// timing checks the intervals.
func (c *complaints) timing(t Timing) {
	valid := t.TTL - t.DriftMargin
	for _, f := range []struct {
		field string
		value time.Duration
	}{{"Timing.TTL", t.TTL}, {"Timing.Renew", t.Renew}, {"Timing.Poll", t.Poll}, {"Timing.Timeout", t.Timeout}} {
		if f.value < time.Millisecond || f.value > longest {
			c.add(f.field, "is %v, want 1ms to %v", f.value, longest)
		}
	}
	if t.DriftMargin < time.Millisecond || t.DriftMargin >= t.TTL {
		c.add("Timing.DriftMargin", "is %v, want at least 1ms, which is how coarse a database's clock may be, and less than the TTL of %v", t.DriftMargin, t.TTL)
	}
	if 2*t.Renew > valid {
		c.add("Timing.Renew", "is %v, want at most half of %v, which is how long a lease is valid, because otherwise one failed renewal would lose it", t.Renew, valid)
	}
}

// longest keeps sums of times within the range of databases.
const longest = 365 * 24 * time.Hour
