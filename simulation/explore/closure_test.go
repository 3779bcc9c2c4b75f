package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

// eachKey calls look for some nodes of a search, each with messages that it may receive.
func eachKey(t *testing.T, every int, look func(t *testing.T, m *model, key *expansionKey)) {
	t.Helper()
	effort.Alone(t)
	effort.Long(t)
	for name, b := range smallBounds {
		t.Run(name, func(t *testing.T) {
			x := begunWithin(t, name)
			random := rand.New(rand.NewPCG(1, 2))
			for at := 0; at < x.states.count; at += every {
				s := x.states.state(int32(at))
				key := x.someone(random, &s, random.IntN(b.Members))
				look(t, x.model, &key)
			}
		})
	}
}

// A closure and the steps from it are worked out in large parts. The result must be that of single steps.
func TestAClosureLeavesNothingOut(t *testing.T) {
	effort.Alone(t)
	eachKey(t, 10, func(t *testing.T, m *model, key *expansionKey) {
		t.Helper()
		w := closureSearch{model: m, key: key, expansion: &expansion{}}
		w.run()
		one := m.stepByStep(key)
		require.False(t, w.stopped)
		assert.Equal(t, one.become, m.beings(key))
		assert.EqualValues(t, len(one.become), w.expansion.silentNodes)
		assert.Equal(t, one.otherInputs, w.expansion.otherInputs)
		assert.ElementsMatch(t, one.sent, w.expansion.sent)
		isCovered := func(s successor) bool {
			return !s.ended && contains(one.sent, s.sent) && one.become[being{s.node, false}]
		}
		next, want := slices.DeleteFunc(w.expansion.successors, isCovered), slices.DeleteFunc(one.successors, isCovered)
		assert.ElementsMatch(t, doings(&expansion{successors: want}), doings(&expansion{successors: next}))
	})
}

// being is a node, and whether its round of votes is over by then.
type being struct {
	node  nodeID
	ended bool
}

// beings are all that a node can silently become.
func (m *model) beings(key *expansionKey) map[being]bool {
	all := map[being]bool{}
	for _, b := range m.silentClosure(key) {
		all[being{b.node, b.ended}] = true
	}
	return all
}

// steps are what a node can become and do.
type steps struct {
	expansion
	become map[being]bool
}

// stepByStep takes the steps of a node one by one.
func (m *model) stepByStep(key *expansionKey) *steps {
	all := &steps{become: map[being]bool{{key.node, false}: true}}
	for due := []being{{key.node, false}}; len(due) > 0; due = due[1:] {
		at, own := due[0], m.unpromptedOf(due[0].node)
		all.otherInputs += own.inputs[key.othersTerm]
		happens := func(results []stepResult) {
			for _, r := range results {
				to := being{r.node, at.ended || r.ended}
				switch {
				case r.outOfBounds:
				case !r.silent() && at.node == key.node && !at.ended && r.node == at.node && !r.saved && !r.ended:
					all.sent = append(all.sent, slices.DeleteFunc(slices.Clone(r.sent), func(id messageID) bool { return slices.Contains(all.sent, id) })...)
				case !r.silent():
					all.add(successor{node: to.node, sent: r.sent, ended: to.ended})
				case !all.become[to]:
					all.become[to] = true
					due = append(due, to)
				}
			}
		}
		for _, e := range own.events {
			switch {
			case e.term > key.othersTerm:
			case e.node != 0:
				happens([]stepResult{{node: e.node, ended: e.ended}})
			default:
				happens(m.results[e.result])
			}
		}
		for id := range key.mayReceive.all {
			happens(m.resultsOf(at.node, m.delivery(id)))
		}
	}
	return all
}

// A successor that is left out can be reached silently from one that looks the same and is kept, or what it
// sends is sent at once.
func TestASubsumedSuccessorIsReachedLater(t *testing.T) {
	effort.Alone(t)
	eachKey(t, 10, func(t *testing.T, m *model, key *expansionKey) {
		t.Helper()
		w := &closureSearch{model: m, key: key, expansion: &expansion{}}
		w.run()
		all := slices.Clone(w.expansion.successors)
		become := m.beings(key)
		m.searchMarks.clear()
		for p := range become {
			m.searchMarks.add(p.node, p.ended)
		}
		w.dropSubsumed()
		kept := w.expansion.successors
		after := make([]map[being]bool, len(kept))
		for i := range kept {
			after[i] = m.after(key, &kept[i])
		}
		comesTo := func(s *successor) (from []int) {
			for i := range kept {
				if kept[i].looksLike(s) && kept[i].node != s.node && after[i][being{s.node, false}] {
					from = append(from, i)
				}
			}
			return from
		}
		for i := range all {
			s := &all[i]
			isKept := slices.ContainsFunc(kept, func(k successor) bool { return k.node == s.node && k.looksLike(s) })
			isSaid := !s.ended && contains(w.expansion.sent, s.sent) && become[being{s.node, false}]
			assert.Equal(t, isKept, !isSaid && len(comesTo(s)) == 0, "%+v", s)
		}
	})
}

// after is everything that a node can silently become after a successor's step.
func (m *model) after(key *expansionKey, s *successor) map[being]bool {
	then := expansionKey{node: s.node, othersTerm: key.othersTerm, mayReceive: key.mayReceive}
	if s.ended {
		then.mayReceive = then.mayReceive.without(&m.roundMessages[m.nodes[s.node].index()])
	}
	return m.beings(&then)
}

// Marks that have wrapped around are like new.
func TestMarksBeginAgain(t *testing.T) {
	s := marks{now: ^uint32(0) - 1}
	s.clear()
	assert.True(t, s.add(5, false))
	s.clear()
	assert.False(t, s.has(5, false))
	assert.False(t, s.has(7, true), "it has never been marked")
	assert.True(t, s.add(5, false))
	assert.True(t, s.has(5, false))
}
