package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

var smallBounds = map[string]Bounds{
	"all but leases":   {Members: 3, Terms: 2, Beats: 2, Entries: 1},
	"ability":          {Members: 3, Terms: 2, Beats: 2, Entries: 1, NoTransfer: true, NoHints: true, Ability: true},
	"leases":           {Members: 3, Terms: 2, Beats: 1, Leases: true, Lag: 1},
	"without pre-vote": {Members: 3, Terms: 3, Beats: 1, Entries: 1, NoPreVote: true, NoCrash: true},
	"five members":     {Members: 5, Terms: 2, Beats: 1, NoPreVote: true, NoTransfer: true, NoHints: true},
}

// begun has the first thousand states within these bounds, for all tests that need some.
var begun = map[string]*worker{}

func begunWithin(t *testing.T, bounds string) *worker {
	t.Helper()
	if begun[bounds] == nil {
		begun[bounds] = searched(t, smallBounds[bounds], 1000)
	}
	return begun[bounds]
}

// A message that is not among the stale messages would be kept for ever, and a search would not end.
func TestEveryMessageIsListedAsStale(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	for name := range smallBounds {
		t.Run(name, func(t *testing.T) {
			allListed(t, begunWithin(t, name).model)
		})
	}
	t.Run("handovers", func(t *testing.T) {
		m := searched(t, Bounds{Members: 3, Terms: 2, Beats: 1, NoPreVote: true, NoHints: true}, 0).model
		allListed(t, m)
		for _, mark := range []rpc.Mark{rpc.Handed, rpc.Vouched} {
			assert.True(t, slices.ContainsFunc(m.messages, func(msg message) bool {
				return msg.body.Kind == rpc.VoteResponse && msg.body.Mark == mark
			}), "no message has the mark %v", mark)
		}
	})
}

func allListed(t *testing.T, m *model) {
	t.Helper()
	for id := range m.messages {
		assert.NotEqual(t, m.messages[id].engine || m.messages[id].won, m.listed[id], "%+v", m.messages[id])
	}
}

// The effects of stale messages on a node are worked out for another node of its orbit.
func TestStaleMessagesAreSymmetric(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	for name, b := range smallBounds {
		t.Run(name, func(t *testing.T) {
			m := begunWithin(t, name).model
			outcomes := func(id nodeID, inputs []inputID) (all []string) {
				for _, in := range inputs {
					all = append(all, fingerprint(termNeeded(&m.registry.stale[m.inputs[in].staleIndex]), m.resultsOf(id, in)))
				}
				return all
			}
			renamed := 0
			for id := nodeID(1); id < 500; id += 11 {
				if m.nodes[id].sorted(b.Members) != m.renamings[0] {
					renamed++
				}
				assert.ElementsMatch(t, outcomes(id, m.computeStaleInputs(id)), outcomes(id, m.staleInputs(id)), "%+v", m.nodes[id])
			}
			assert.Positive(t, renamed)
		})
	}
}

// Of stale messages that make a machine do the same one is looked at. The effect of any of them must be among the
// results.
func TestNoStaleMessageIsMissed(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	for name := range smallBounds {
		t.Run(name, func(t *testing.T) {
			m := begunWithin(t, name).model
			for id := nodeID(1); int(id) < len(m.nodes); id += nodeID(len(m.nodes)/20 + 1) {
				all, listed := map[string]bool{}, map[string]bool{}
				for i := range m.registry.stale {
					if msg := &m.registry.stale[i]; m.couldArrive(&m.nodes[id], msg) {
						if does := m.computeResults(id, input{kind: stale, staleIndex: i}); len(does) > 1 || does[0].noticed(id) {
							all[fingerprint(termNeeded(msg), does)] = true
						}
					}
				}
				for _, in := range m.computeStaleInputs(id) {
					listed[fingerprint(termNeeded(&m.registry.stale[m.inputs[in].staleIndex]), m.resultsOf(id, in))] = true
				}
				assert.Equal(t, all, listed, "%+v", m.nodes[id])
			}
		})
	}
}

// A member that has voted may be asked again at any time, by any other. That must have no effect, which is
// checked.
func TestAVoterMayBeAskedAgain(t *testing.T) {
	m := newSearch(Options{Bounds: smallBounds["without pre-vote"]}).model
	asked := protocol.Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Round: thisRound, Term: 1}}
	voter := func(vote memberstate.Seat) *node {
		n := node{seat: 1}
		n.session.Machine = protocol.NewMachine(&m.rules[0], memberstate.HardState{Term: 1, Vote: vote})
		n.canonize(&m.rules[0])
		return &n
	}
	assert.False(t, m.couldArrive(voter(memberstate.Nobody), &asked), "it has not voted")
	assert.True(t, m.couldArrive(voter(3), &asked))
	ignores := func(n *node) bool {
		variants := n.session.RetryVariants()
		return new(outcome).of(&m.rules[0], &variants, &asked)
	}
	assert.True(t, ignores(voter(3)), "it refuses")
	assert.False(t, ignores(voter(2)), "it says again that it votes")
}

// Nodes of one orbit are equal when they are sorted.
func TestNodesOfAnOrbitAreEqualWhenSorted(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	for name, b := range smallBounds {
		t.Run(name, func(t *testing.T) {
			m := begunWithin(t, name).model
			for _, n := range m.nodes[1:min(500, len(m.nodes))] {
				sorted := n.renamed(n.sorted(b.Members))
				for _, r := range m.renamings {
					other := n.renamed(r)
					require.Equal(t, sorted, other.renamed(other.sorted(b.Members)))
				}
			}
		})
	}
}

// A request for a pre-vote may arrive when its round is over, even in the very term that it asked for.
func TestAFollowerMayHearAnOldRequest(t *testing.T) {
	m := newSearch(Options{Bounds: smallBounds["all but leases"]}).model
	asked := protocol.Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Round: thisRound, Term: 2}}
	assert.True(t, m.registry.isStale(&asked))
	n := node{seat: 1}
	n.session.Machine = protocol.NewMachine(&m.rules[0], memberstate.HardState{Term: 2, Vote: 2})
	assert.True(t, m.couldArrive(&n, &asked))
	n.session.Machine = protocol.NewMachine(&m.rules[0], memberstate.HardState{Term: 1})
	assert.True(t, m.couldArrive(&n, &asked))
	assert.Zero(t, termNeeded(&asked), "no member need be in the term that is asked for")
}
