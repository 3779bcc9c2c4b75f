// The interface that all kinds of elections share, so that an engine need not know
// which kind it uses.

package elector

import (
	"context"
	"iter"
)

// Election is one member's part in the election of a leader. An [Elector] elects by
// votes; the elector of package lease elects by a lease in a database. Both call a
// Lead with a term that fences every write, call the same handlers, and return the
// same Status.
type Election interface {
	// Run takes part, once, until the context ends, and returns when Lead, the
	// handlers and every goroutine have ended. A leader hands over first.
	Run(ctx context.Context) error
	// Status returns the member's status. It never waits.
	Status() Status
	// Watch yields the member's status, now and after every change, until the
	// context ends or the member has stopped. A slow reader skips changes, but
	// never the latest.
	Watch(ctx context.Context) iter.Seq[Status]
	// Resign gives up the leadership. It returns nil when this member no longer
	// leads, ErrNotLeader if it did not lead, and ErrStopped if it does not run.
	Resign(ctx context.Context) error
}

var _ Election = (*Elector)(nil)
