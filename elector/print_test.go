// String of Status and Report.

package elector_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

func TestAStatusPrintsItself(t *testing.T) {
	for want, s := range map[string]elector.Status{
		`"" in "": candidate in term 0`: {},
		`"n0" in "orders": leader in term 7, voted for "n0"`: {
			Group: "orders", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0", Vote: "n0", Revision: 3,
		},
		`"n1" in "orders": follower of "n0" in term 7, voted for "n2"`: {
			Group: "orders", Self: "n1", Role: memberstate.Follower, Term: 7, Leader: "n0", Vote: "n2",
		},
		`"n3" in "orders": observer of "n0" in term 7, last leader "n2" (handed over)`: {
			Group: "orders", Self: "n3", Role: memberstate.Observer, Term: 7, Leader: "n0", LastLeader: "n2", Departure: protocol.DepartedHandedOver,
		},
		`"n\n1" in "orders": candidate in term 8, last leader "n0" (silent), stopped`: {
			Group: "orders", Self: "n\n1", Term: 8, LastLeader: "n0", Departure: protocol.DepartedSilent, Stopped: true,
		},
	} {
		assert.Equal(t, want, s.String())
	}
}

// The embedded Status's String must not hide the measured figures.
func TestAReportPrintsItsFigures(t *testing.T) {
	follower := elector.Report{Status: elector.Status{Group: "g", Self: "n1", Role: memberstate.Follower, Term: 7, Leader: "n0"}, Ledger: memberstate.Position{Term: 6, Index: 42}}
	assert.Equal(t, `"n1" in "g": follower of "n0" in term 7, ledger 6:42`, follower.String())
	leader := elector.Report{
		Status: elector.Status{Group: "g", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0"},
		Ledger: memberstate.Position{Term: 7, Index: 43}, Lease: 240*time.Millisecond + 3, QuorumAge: 12 * time.Millisecond,
	}
	assert.Equal(t, `"n0" in "g": leader in term 7, ledger 7:43, lease 240ms, quorum 12ms ago`, leader.String())
	leader.Inability, leader.Unable, leader.Lease = protocol.NotAbleDisk, 4200*time.Millisecond, 0
	assert.Equal(t, `"n0" in "g": leader (not able: disk) in term 7, ledger 7:43, not able for 4.2s, quorum 12ms ago`, leader.String())
	follower.Preferred, follower.LastChoice = true, true
	assert.Equal(t, `"n1" in "g": follower of "n0" in term 7, ledger 6:42, preferred, last choice`, follower.String())
}
