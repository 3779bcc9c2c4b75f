// The errors that callers may want to tell apart.

package elector

import (
	"errors"
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

var (
	// ErrStopped: the elector does not run. It has stopped, or was not started,
	// or is to be started a second time; the error says which.
	ErrStopped = errors.New("elector: stopped")
	// ErrNotLeader: only a leader can do this.
	ErrNotLeader = errors.New("elector: this member does not lead")
	// ErrTransferFailed: the handover was given up, and this member still leads
	// or another than the named one does.
	ErrTransferFailed = errors.New("elector: leadership was not transferred")
	// ErrTransferInProgress: one handover at a time.
	ErrTransferInProgress = errors.New("elector: a handover is in progress")
	// ErrStaleTerm: the append is of a lower term than this member's, and must
	// not be accepted.
	ErrStaleTerm = errors.New("elector: stale term")
	// ErrOtherLeader: another leads the term of the append, or whom the append
	// names can lead none; the error says which.
	ErrOtherLeader = errors.New("elector: another member leads this term")
	// ErrOtherVoters: the store was written under another list of voters.
	ErrOtherVoters = errors.New("elector: the store knows the group with other voters")
	// ErrStoreBehindLedger: the ledger ends in a term that the store has never
	// heard of. The store is older than the ledger, and a vote may be lost.
	ErrStoreBehindLedger = errors.New("elector: the store is older than the ledger")
	// ErrGroupExists: the host has a group of this name already.
	ErrGroupExists = errors.New("elector: the host has this group already")
)

// worded is one of the errors above, in words that fit the occasion.
type worded struct {
	kind error
	text string
}

func (e *worded) Error() string { return e.text }
func (e *worded) Unwrap() error { return e.kind }

func say(kind error, format string, args ...any) error {
	return &worded{kind, "elector: " + fmt.Sprintf(format, args...)}
}

// errExited is the outcome of a function that was handed in and that has ended its
// goroutine.
var errExited = errors.New("it has ended its goroutine (runtime.Goexit) instead of returning")

// ConfigError says what is wrong with one field of a configuration. A
// configuration with several wrong fields gives several, joined.
type ConfigError struct {
	Field   string
	Problem string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("elector: %s %s", e.Field, e.Problem) }

// complaints collects what is wrong with a configuration.
type complaints []error

func (c *complaints) add(field, format string, args ...any) {
	*c = append(*c, &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// LedgerError says that the engine's ledger did what no ledger under the
// contract of LedgerEnd and Heard can do. The member has stopped: it can vouch
// for nothing any more.
type LedgerError struct {
	Group string
	// End is what LedgerEnd returned when asked with the promise of Term, and
	// Before is what it had returned before.
	Term        memberstate.Term
	End, Before memberstate.Position
	Problem     string
}

func (e *LedgerError) Error() string {
	return fmt.Sprintf("elector: group %q: LedgerEnd(%d) returned %v after %v: %s", e.Group, e.Term, e.End, e.Before, e.Problem)
}
