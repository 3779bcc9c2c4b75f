package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eachKey calls look for some nodes of a search, each with messages that it may hear.
func eachKey(t *testing.T, every int, look func(t *testing.T, m *model, key *localKey)) {
	t.Helper()
	long(t)
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
	eachKey(t, 10, func(t *testing.T, m *model, key *localKey) {
		t.Helper()
		w := closureSearch{model: m, key: key, local: &local{}}
		w.run()
		one := m.stepByStep(key)
		require.False(t, w.wrong)
		assert.Equal(t, one.become, m.beings(key))
		assert.EqualValues(t, len(one.become), w.local.silent)
		assert.Equal(t, one.others, w.local.others)
		assert.ElementsMatch(t, one.says, w.local.says)
		isCovered := func(s successor) bool {
			return !s.ended && contains(one.says, s.says) && one.become[being{s.node, false}]
		}
		next, want := slices.DeleteFunc(w.local.next, isCovered), slices.DeleteFunc(one.next, isCovered)
		assert.ElementsMatch(t, doings(&local{next: want}), doings(&local{next: next}))
	})
}

// being is a node, and whether its round of votes is over by then.
type being struct {
	node  nodeID
	ended bool
}

// beings are all that a node can silently become.
func (m *model) beings(key *localKey) map[being]bool {
	all := map[being]bool{}
	for _, b := range m.silently(key) {
		all[being{b.node, b.ended}] = true
	}
	return all
}

// steps are what a node can become and do.
type steps struct {
	local
	become map[being]bool
}

// stepByStep takes the steps of a node one by one.
func (m *model) stepByStep(key *localKey) *steps {
	all := &steps{become: map[being]bool{{key.node, false}: true}}
	for due := []being{{key.node, false}}; len(due) > 0; due = due[1:] {
		at, own := due[0], m.unpromptedOf(due[0].node)
		all.others += own.inputs[key.most]
		happens := func(results []stepResult) {
			for _, r := range results {
				to := being{r.node, at.ended || r.ended}
				switch {
				case r.beyond:
				case !r.silent() && at.node == key.node && !at.ended && r.node == at.node && !r.saved && !r.ended:
					all.says = append(all.says, slices.DeleteFunc(slices.Clone(r.says), func(id messageID) bool { return slices.Contains(all.says, id) })...)
				case !r.silent():
					all.add(successor{node: to.node, says: r.says, ended: to.ended})
				case !all.become[to]:
					all.become[to] = true
					due = append(due, to)
				}
			}
		}
		for _, e := range own.events {
			switch {
			case e.term > key.most:
			case e.node != 0:
				happens([]stepResult{{node: e.node, ended: e.ended}})
			default:
				happens(m.results[e.result])
			}
		}
		for id := range key.heard.all {
			happens(m.take(at.node, m.delivery(id)))
		}
	}
	return all
}

// A successor that is left out can be reached silently from one that looks the same and is kept, or what it
// sends is sent at once.
func TestASubsumedSuccessorIsReachedLater(t *testing.T) {
	eachKey(t, 10, func(t *testing.T, m *model, key *localKey) {
		t.Helper()
		w := &closureSearch{model: m, key: key, local: &local{}}
		w.run()
		all := slices.Clone(w.local.next)
		become := m.beings(key)
		m.searchMarks.clear()
		for p := range become {
			m.searchMarks.add(p.node, p.ended)
		}
		w.dropSubsumed()
		kept := w.local.next
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
			isSaid := !s.ended && contains(w.local.says, s.says) && become[being{s.node, false}]
			assert.Equal(t, isKept, !isSaid && len(comesTo(s)) == 0, "%+v", s)
		}
	})
}

// after is everything that a node can silently become after a successor's step.
func (m *model) after(key *localKey, s *successor) map[being]bool {
	then := localKey{node: s.node, most: key.most, heard: key.heard}
	if s.ended {
		then.heard = then.heard.without(&m.roundMessages[m.nodes[s.node].index()])
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
