// The errors that a caller can test for with errors.Is.

package elector

import (
	"errors"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

var (
	// ErrStopped: the elector does not run. It has stopped, was not started, or
	// cannot be started a second time; the error says which.
	ErrStopped = protocol.ErrStopped
	// ErrNotLeader: only a leader can do this.
	ErrNotLeader = protocol.ErrNotLeader
	// ErrTransferFailed: the handover was given up. This member still leads, or a
	// member other than the target does.
	ErrTransferFailed = protocol.ErrTransferFailed
	// ErrTransferInProgress: another handover is under way.
	ErrTransferInProgress = protocol.ErrTransferInProgress
	// ErrStaleTerm: the append is of a lower term than this member's, and must
	// not be accepted.
	ErrStaleTerm = protocol.ErrStaleTerm
	// ErrOtherLeader: another member leads the term of the append, or the append
	// names a leader that cannot lead; the error says which.
	ErrOtherLeader = protocol.ErrOtherLeader
	// ErrOtherVoters: the store was written under another list of voters.
	ErrOtherVoters = protocol.ErrOtherVoters
	// ErrStoreBehindLedger: the ledger ends in a term larger than that in the
	// store. The store is older than the ledger, and a vote may be lost.
	ErrStoreBehindLedger = protocol.ErrStoreBehindLedger
	// ErrOutdated: another node has seen a later process of this one. The store was put back to an older copy, or two
	// processes run under one id. The node takes part in no group any more, and its store cannot be used again.
	ErrOutdated = memberstate.ErrOutdated
	// ErrGroupExists: the host has a group of this name already.
	ErrGroupExists = protocol.ErrGroupExists
	// ErrServing: the node has been told to serve, so Drain ends.
	ErrServing = protocol.ErrServing
	// ErrProtected: an operator protects the node, so Drain hands over nothing for now.
	ErrProtected = protocol.ErrProtected
	// ErrStoreSilent: the store has not answered for a detection time, and at least for a second, so a call that waits for it was given up.
	// What the store was asked to do it may still do.
	ErrStoreSilent = protocol.ErrStoreSilent
)

// errExited is the error of a callback that has ended its goroutine.
var errExited = errors.New("it has ended its goroutine (runtime.Goexit) instead of returning")
