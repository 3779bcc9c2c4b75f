// Conformance: what the real DLedger answered, replayed against the machine.
//
// testdata/dledger holds 6,000 decisions of the Java elector. The machine is put into the state of
// each, with pre-vote, ranks and leases off, and must decide the same. Where it must not, the vector
// falls under a named deviation. Which one is decided from the vector alone, never from what the
// machine did, and the machine must then do exactly what the deviation says.

package protocol

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// verdict is the result for one vector.
type verdict string

const (
	agrees verdict = "agree"
	// agreesInOrder marks what ends alike only if the answers come in the right order.
	// Which one that was is not recorded.
	agreesInOrder verdict = "agree, in some orders of arrival"
	// skipped marks a state that no elector can reach, such as a follower without
	// a leader. What a machine does there is no decision.
	skipped verdict = "skipped: inconsistent state"
	// others neither agree nor are excused: defects of the machine.
	others verdict = "others"

	byD2       verdict = "D2: a term that is spent is not campaigned in again"
	byD3       verdict = "D3: a larger term is adopted in the step that saw it"
	byD5       verdict = "D5: an existing leader never raises the term"
	byD6Passed verdict = "D6: passed is passed"
	byD6Lost   verdict = "D6: lost as soon as no quorum can accept"
	byD6Own    verdict = "D6: lost before anyone is asked, its own vote refused"
	byD7       verdict = "D7: a larger term is asked for, and leading goes on"
	byD8       verdict = "D8: beats count from the election"
	byD21      verdict = "D21: a larger term counts whenever it was told"
)

// excuse is a deviation that a vector may fall under, and what it then demands.
type excuse struct {
	name  verdict
	falls func(*vector) bool
	check func(*trial, *vector)
}

// decisions are the vectors of one kind, and how they are replayed.
type decisions struct {
	kind    string
	agree   func(*trial, *vector)
	excuses []excuse // the first one that applies does
	// explain checks that DLedger decides like this, by its own rule; nil: the rule is the
	// machine's.
	explain func(*trial, *vector)
	// expected pins every count: a change of one is a change of the protocol.
	expected map[verdict]int
}

func TestConformance(t *testing.T) {
	all := []decisions{votes, heartbeats, voteRounds, beatRounds}
	for i := range all {
		d := &all[i]
		got := map[verdict]int{}
		for line, v := range readVectors(t, d.kind) {
			c := new(trial)
			judged := d.replay(c, v)
			if len(c.problems) > 0 {
				if got[others] < 3 {
					t.Errorf("%s, line %d, as %q: %s\n%s", d.kind, line+1, judged, c.problems[0], v.text)
				}
				judged = others
			}
			got[judged]++
		}
		for _, judged := range slices.Sorted(maps.Keys(got)) {
			t.Logf("%-15s %5d  %s", d.kind, got[judged], judged)
		}
		assert.Equal(t, d.expected, got, d.kind)
	}
}

// DLedger waits for votes for two seconds, and then for a random time up to its longest wait between two attempts.
func TestTheIntervalsOfDLedger(t *testing.T) {
	d := DLedgerTiming()
	assert.Equal(t, 2*time.Second, d.Heartbeat)
	assert.Equal(t, 3, d.Leak)
	assert.Equal(t, 300*time.Millisecond, d.MinVoteWait)
	assert.Equal(t, time.Second, d.MaxVoteWait)
	assert.Equal(t, 2*time.Second+d.MaxVoteWait, d.RoundTimeout)
}

func (d *decisions) replay(c *trial, v *vector) verdict {
	if v.Consistent != nil && !*v.Consistent {
		return skipped
	}
	if d.explain != nil {
		if d.explain(c, v); len(c.problems) > 0 {
			return others
		}
	}
	for _, e := range d.excuses {
		if e.falls(v) {
			e.check(c, v)
			return e.name
		}
	}
	d.agree(c, v)
	return agrees
}

// trial collects the failures of one vector, so that one does not hide the next. Assertions report to
// it.
type trial struct{ problems []string }

func (c *trial) Errorf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}
