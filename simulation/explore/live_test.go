package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// Whatever happens within these budgets, a leader can still be elected.
func TestALeaderCanAlwaysBeElected(t *testing.T) {
	effort.Alone(t)
	for name, c := range map[string]struct {
		bounds  Bounds
		budgets Budgets
	}{
		"two members":                     {Bounds{Members: 2, Terms: 2, Beats: 2, NoTransfer: true, NoHints: true}, Budgets{InFlight: 3, Drops: 1, Restarts: 1}},
		"two, without pre-vote":           {Bounds{Members: 2, Terms: 2, Beats: 2, NoPreVote: true, NoTransfer: true}, Budgets{InFlight: 3, Drops: 1, Restarts: 1}},
		"two, with commands":              {Bounds{Members: 2, Terms: 2, Beats: 1}, Budgets{InFlight: 3, Restarts: 1}},
		"two, of which none need be able": {Bounds{Members: 2, Terms: 2, Beats: 1, NoPreVote: true, NoTransfer: true, NoHints: true, Ability: true}, Budgets{InFlight: 2, Inabilities: 2}},
		"three, with little to do":        {Bounds{Members: 3, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}, Budgets{InFlight: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.bounds.Ability {
				effort.Long(t)
			}
			if !effort.Whole() {
				c.budgets.InFlight = min(c.budgets.InFlight, c.bounds.Members)
			}
			r, err := Live(t.Context(), Options{Bounds: c.bounds}, c.budgets)
			require.NoError(t, err)
			require.Nil(t, r.Violation)
			assert.True(t, r.Complete)
			t.Logf("%+v", r)
		})
	}
}

// Members that wait for the votes of others that do not exist never have a leader.
func TestAGroupThatCannotElectIsNoticed(t *testing.T) {
	x := newLiveSearch(Options{Bounds: Bounds{Members: 2, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}})
	for i := range x.model.rules {
		x.model.rules[i].Voters = memberstate.SetOf(1, 2, 3, 4)
	}
	r := x.run(t.Context(), Budgets{InFlight: 3})
	require.NotNil(t, r.Violation)
	assert.False(t, r.Complete)
	assert.Contains(t, r.Violation.What, "no leader can be elected")
	assert.Empty(t, r.Violation.Path, "it is so from the beginning")
}

// A message on its way arrives even after its round or office is over: the code has to ignore it.
func TestMessagesOnTheirWayArriveTooLate(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	x := newLiveSearch(Options{Bounds: Bounds{Members: 2, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}})
	require.True(t, x.run(t.Context(), Budgets{InFlight: 3, Restarts: 1}).Complete)
	ofOldRound, ofOldOffice := 0, 0
	for i := range x.states {
		s := &x.states[i]
		for _, f := range s.flights {
			if f == 0 {
				continue
			}
			switch msg := &x.model.messages[f.message()]; {
			case msg.body.Kind == rpc.VoteResponse && msg.body.Round == roundOver:
				ofOldRound++
			case msg.answersLeader() && !x.model.nodes[s.nodes[f.to()]].leads(msg.body.Asked):
				ofOldOffice++
			}
		}
	}
	assert.Positive(t, ofOldRound)
	assert.Positive(t, ofOldOffice)
	late := message{body: protocol.Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 1, Round: roundOver}}}
	assert.NotEmpty(t, x.model.resultsOf(x.model.begin(0), x.model.delivery(x.model.message(late)))[0].sent, "a member that is asked too late answers")
}

// The path to a violation in a step ends with that step.
func TestThePathToAViolationOfALiveSearchHasItsLastStep(t *testing.T) {
	x := newLiveSearch(Options{Bounds: Bounds{Members: 2, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}})
	first, ring := x.model.begin(1), x.model.own[1][0]
	x.model.resultsOf(first, ring) // it is remembered, and now as something else
	x.model.results[x.model.steps[first][ring]] = []stepResult{{defect: defect{invariant.NeverStuck, "nothing else is to come"}}}
	r := x.run(t.Context(), Budgets{InFlight: 3})
	require.NotNil(t, r.Violation)
	assert.Equal(t, "never stuck: n1: nothing else is to come", r.Violation.Error())
	require.Len(t, r.Violation.Path, 1)
	assert.Equal(t, "n1: its alarm rings", r.Violation.Path[0].String())
}

func TestBudgetsThatMakeNoSenseAreNamed(t *testing.T) {
	_, err := Live(t.Context(), Options{Bounds: Bounds{Members: 2, Terms: 1, Beats: 1}}, Budgets{InFlight: 13, Drops: 4, Restarts: -1, Inabilities: 7})
	for _, says := range []string{"InFlight is 13", "Drops is 4", "Restarts is -1", "Inabilities is 7"} {
		assert.ErrorContains(t, err, says)
	}
}
