// The names of package protocol that an engine needs.

package elector

import "github.com/hustings/hustings/elector/protocol"

type (
	// Timing holds the intervals of a group.
	Timing = protocol.Timing
	// Departure is the reason why a member gave up a leader.
	Departure = protocol.Departure
	// Inability is the reason why a member is not able to lead.
	Inability = protocol.Inability
	// Drop is the reason why a message or an alarm was ignored.
	Drop = protocol.Drop
	// Judgement is how a round of votes ended.
	Judgement = protocol.Judgement
	// TransferError says why the leadership was not transferred. It is also
	// ErrTransferFailed.
	TransferError = protocol.TransferError
	// ConfigError says what is wrong with one field of a configuration. If several
	// fields are wrong, there is one for each, joined.
	ConfigError = protocol.ConfigError
	// LedgerError says how the engine's ledger broke the contract of LedgerEnd and Heard.
	// The member has stopped.
	LedgerError = protocol.LedgerError
)

// DefaultTiming is for members in one data centre: a silent leader is replaced
// in about a third of a second.
func DefaultTiming() Timing { return protocol.DefaultTiming() }

// DLedgerTiming has DLedger's default intervals.
func DLedgerTiming() Timing { return protocol.DLedgerTiming() }
