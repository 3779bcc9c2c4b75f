// What every way of electing has in common, so that an engine need not know
// which one it runs on.

package elector

import (
	"context"
	"iter"
)

// Election is one member's part in the election of a leader. An [Elector] is
// one, by votes; that of package lease is another, by a lease in a database. Both
// call a Lead with a term that fences every write, tell the same handlers, and
// show the same Status.
type Election interface {
	// Run takes part, once, until the context ends, and returns when Lead, the
	// handlers and every goroutine have ended. A leader hands over first.
	Run(ctx context.Context) error
	// Status is what the member is now. It never waits.
	Status() Status
	// Watch yields what the member is, now and after every change, until the
	// context ends or the member has stopped. Between two yields changes may be
	// skipped; the latest never is.
	Watch(ctx context.Context) iter.Seq[Status]
	// Resign gives the leadership up. It returns nil when this member leads no
	// more, ErrNotLeader if it did not lead, and ErrStopped if it does not run.
	Resign(ctx context.Context) error
}

var _ Election = (*Elector)(nil)
