// What an embedding sees of the protocol, under the names that it knows them by.

package elector

import "github.com/hustings/hustings/elector/protocol"

type (
	// Timing holds the intervals of a group.
	Timing = protocol.Timing
	// Departure is why a member took its leader for gone.
	Departure = protocol.Departure
	// Drop is a reason for which a message or an alarm was ignored.
	Drop = protocol.Drop
	// Judgement is how a round of votes ended.
	Judgement = protocol.Judgement
	// TransferError says why the leadership was not transferred. It is also
	// ErrTransferFailed.
	TransferError = protocol.TransferError
	// ConfigError says what is wrong with one field of a configuration. A
	// configuration with several wrong fields gives several, joined.
	ConfigError = protocol.ConfigError
	// LedgerError says that the engine's ledger did what no ledger under the contract of
	// LedgerEnd and Heard can do. The member has stopped.
	LedgerError = protocol.LedgerError
)

// DefaultTiming is for members in one data centre: a silent leader is replaced
// in about a third of a second.
func DefaultTiming() Timing { return protocol.DefaultTiming() }

// DLedgerTiming has the intervals that DLedger comes with.
func DLedgerTiming() Timing { return protocol.DLedgerTiming() }
