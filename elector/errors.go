// The errors that callers may want to tell apart.

package elector

import (
	"errors"

	"github.com/hustings/hustings/elector/protocol"
)

var (
	// ErrStopped: the elector does not run. It has stopped, or was not started,
	// or is to be started a second time; the error says which.
	ErrStopped = protocol.ErrStopped
	// ErrNotLeader: only a leader can do this.
	ErrNotLeader = protocol.ErrNotLeader
	// ErrTransferFailed: the handover was given up, and this member still leads
	// or another than the named one does.
	ErrTransferFailed = protocol.ErrTransferFailed
	// ErrTransferInProgress: one handover at a time.
	ErrTransferInProgress = protocol.ErrTransferInProgress
	// ErrStaleTerm: the append is of a lower term than this member's, and must
	// not be accepted.
	ErrStaleTerm = protocol.ErrStaleTerm
	// ErrOtherLeader: another leads the term of the append, or whom the append
	// names can lead none; the error says which.
	ErrOtherLeader = protocol.ErrOtherLeader
	// ErrOtherVoters: the store was written under another list of voters.
	ErrOtherVoters = protocol.ErrOtherVoters
	// ErrStoreBehindLedger: the ledger ends in a term that the store has never
	// heard of. The store is older than the ledger, and a vote may be lost.
	ErrStoreBehindLedger = protocol.ErrStoreBehindLedger
	// ErrGroupExists: the host has a group of this name already.
	ErrGroupExists = protocol.ErrGroupExists
)

// errExited is the outcome of a function that was handed in and that has ended its
// goroutine.
var errExited = errors.New("it has ended its goroutine (runtime.Goexit) instead of returning")
