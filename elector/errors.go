// The errors that callers may want to tell apart.

package elector

import (
	"errors"
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

var (
	// ErrStopped: the elector has stopped, or was never started.
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
	// ErrOtherLeader: the append is of this term, but another leads it.
	ErrOtherLeader = errors.New("elector: another member leads this term")
	// ErrOtherVoters: the store was written under another list of voters.
	ErrOtherVoters = errors.New("elector: the store knows the group with other voters")
	// ErrStoreBehindLedger: the ledger ends in a term that the store has never
	// heard of. The store is older than the ledger, and a vote may be lost.
	ErrStoreBehindLedger = errors.New("elector: the store is older than the ledger")
	// ErrGroupExists: the host has a group of this name already.
	ErrGroupExists = errors.New("elector: the host has this group already")
)

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
