package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// Tracing does not change a run, whichever group is traced.
func TestATraceIsOfOneGroup(t *testing.T) {
	o := Options{Seed: 7, Members: 5, Groups: 3, Leases: true, Duration: 5 * time.Second, Faults: FaultsOf(ProcessFaults)}
	s, r, err := Record(o)
	require.NoError(t, err)
	messages, begun := 0, 0
	for place := range o.Groups {
		traced, again, err := s.traced(place)
		require.NoError(t, err)
		assert.Equal(t, r.Digest, again.Digest)
		assert.Equal(t, groupNames[place], traced.Group)
		messages += len(traced.Passages)
		for _, m := range traced.Moments {
			if m.Kind == trace.Started {
				begun++
			}
		}
	}
	assert.NotZero(t, messages)
	assert.Zero(t, begun%o.Groups, "each incarnation begins once in each trace")
	_, err = s.TraceGroup(3)
	assert.ErrorContains(t, err, "there is no g3")
}

// A trace is of the group in which an invariant did not hold, and ends with the violation.
func TestATraceIsOfTheGroupThatIsBroken(t *testing.T) {
	effort.Alone(t)
	for seed := range uint64(2000) {
		o := Options{Seed: seed, Members: 3, Groups: 3, Careless: CarelessAlways, Duration: 10 * time.Second}
		r, err := Run(o)
		require.NoError(t, err)
		if r.Violation == nil || r.Violation.Group == 0 {
			continue
		}
		traced, err := o.Trace()
		require.NoError(t, err)
		assert.Equal(t, groupNames[r.Violation.Group], traced.Group)
		last := traced.Moments[len(traced.Moments)-1]
		assert.Equal(t, trace.Violated, last.Kind)
		assert.Contains(t, last.What, "in "+traced.Group+" ")
		return
	}
	assert.Fail(t, "no careless engine was caught")
}

// A trace lists every invariant, so that one that was never checked is seen, and of faults and
// conditions only those that happened.
func TestATraceCountsWhatHappened(t *testing.T) {
	s, r, err := Record(Options{Seed: 7, Duration: 5 * time.Second, Faults: FaultsOf(ProcessFaults)})
	require.NoError(t, err)
	traced, err := s.Trace()
	require.NoError(t, err)
	require.Len(t, traced.Tallies, 3)
	assert.Len(t, traced.Tallies[0].Counts, int(invariant.Count))
	struck := map[string]uint64{}
	for _, c := range traced.Tallies[1].Counts {
		struck[c.Name] = c.Times
	}
	for f, times := range r.Struck {
		if f.Class() != ProcessFaults {
			assert.NotContains(t, struck, f.String())
		} else if times > 0 {
			assert.Equal(t, times, struck[f.String()], f)
		}
	}
	assert.NotEmpty(t, struck)
}
