// A leader whose step waits for the ledger for too long loses its office at once, and the machine learns
// of it when the step is over.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// The engine is asked for its ledger with a promise of the next term, and may take long to answer.
func TestALossIsShownWithItsReasonBeforeTheEngineHasAnswered(t *testing.T) {
	d, f := pair(t)
	d.group.last, d.group.departure = 2, DepartedSilent // of the leader before
	d.shown = nil
	d.handed(f)
	assert.Equal(t, View{Term: 1, Role: memberstate.Candidate, Vote: 1, Last: 1, Departure: DepartedHandedOver}, d.shown[0])
}

func TestALeaderWhoseLedgerEndHangsLosesItsOffice(t *testing.T) {
	for _, returns := range []string{"before the ledger", "after it"} {
		d := newRecorders(t, 2)[0]
		d.group.Machine.State = memberstate.State{HardState: memberstate.HardState{Term: 3, Vote: 1}, Role: memberstate.Leader, Leader: 1}
		d.group.running, d.group.working = true, 1
		d.group.serving = true
		d.group.duty().lead = lead{term: 3, running: true}
		d.group.duty().lease.until = time.Hour
		d.node.give(&d.group, &Input{Kind: Transfer, Seat: 2}, purpose{})
		detection := d.group.Rules.Timing.Detection()
		d.did()
		d.node.At(d.node.now + detection)
		d.node.toLookAt(&d.group)
		d.node.EndTurn()
		assert.Empty(t, d.did(), "others may not have missed it yet")
		d.node.At(d.node.now + 1)
		d.node.toLookAt(&d.group)
		d.node.EndTurn()
		assert.Equal(t, []string{"hold nothing", "end lead 3", "show candidate in term 3"}, d.did())
		assert.Equal(t, DepartedNotAble, d.group.departure)
		back := func() { d.node.LeadReturned(&d.group, 3, false, nil) }
		if returns == "before the ledger" {
			back()
		}
		d.node.LedgerEnd(&d.group, memberstate.Position{}, 0, nil)
		if returns == "after it" {
			back()
		}
		assert.Equal(t, memberstate.Candidate, d.group.Role, "its Lead has ended, so its term is over: %s", returns)
		assert.NotContains(t, d.did(), "lead 3")
		assert.Equal(t, DepartedNotAble, d.group.departure)
		assert.False(t, d.group.duty().lead.lost)
	}
}

// counted are effects that count how often something was shown.
type counted struct {
	ignored
	shown int
}

func (c *counted) Show(View) { c.shown++ }

// A step is used again for others, and one before it may have ended an office, too.
func TestEachLossIsShownAtOnce(t *testing.T) {
	x, fx := &Step{Input: Input{Kind: Transfer, Seat: 2}}, new(counted)
	for offices := range 3 {
		r := threeRules()
		s := Session{Machine: elected(r)}
		assert.Equal(t, NeedLedger, s.Begin(r, time.Second, x, fx))
		for range 2 {
			s.LosesOffice(x, fx)
			assert.Equal(t, offices+1, fx.shown)
		}
	}
}
