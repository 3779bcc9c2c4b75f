// The errors that callers may want to tell apart.

package protocol

import (
	"errors"
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

// Package elector documents them under the same names.
var (
	ErrStopped            = errors.New("elector: stopped")
	ErrNotLeader          = errors.New("elector: this member does not lead")
	ErrTransferFailed     = errors.New("elector: leadership was not transferred")
	ErrTransferInProgress = errors.New("elector: a handover is in progress")
	ErrStaleTerm          = errors.New("elector: stale term")
	ErrOtherLeader        = errors.New("elector: another member leads this term")
	ErrOtherVoters        = errors.New("elector: the store knows the group with other voters")
	ErrStoreBehindLedger  = errors.New("elector: the store is older than the ledger")
	ErrGroupExists        = errors.New("elector: the host has this group already")
	ErrServing            = errors.New("elector: the node serves again")
	ErrProtected          = errors.New("elector: the node is protected")
	ErrStoreSilent        = errors.New("elector: the store does not answer")
)

// worded is one of the errors above, with a text for the occasion.
type worded struct {
	kind error
	text string
}

func (e *worded) Error() string { return e.text }
func (e *worded) Unwrap() error { return e.kind }

// Say is an error of a kind, with a text of its own.
func Say(kind error, format string, args ...any) error {
	return &worded{kind, "elector: " + fmt.Sprintf(format, args...)}
}

// ConfigError says what is wrong with one field of a configuration. A
// configuration with several wrong fields gives several, joined.
type ConfigError struct {
	Field   string
	Problem string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("elector: %s %s", e.Field, e.Problem) }

// Complaints collects what is wrong with a configuration.
type Complaints []error

// Add complains about a field.
func (c *Complaints) Add(field, format string, args ...any) {
	*c = append(*c, &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// LedgerError says that the engine's ledger broke the contract of LedgerEnd and Heard. The member
// has stopped, because it can vouch for nothing any more.
type LedgerError struct {
	Group string
	// End is the answer of LedgerEnd to a promise for Term, and Before is the answer before that.
	Term        memberstate.Term
	End, Before memberstate.Position
	Problem     string
}

func (e *LedgerError) Error() string {
	return fmt.Sprintf("elector: group %q: LedgerEnd(%d) returned %v after %v: %s", e.Group, e.Term, e.End, e.Before, e.Problem)
}
