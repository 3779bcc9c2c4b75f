package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

// A renaming and its inverse change nothing, and there are as many renamings as permutations.
func TestRenamings(t *testing.T) {
	all := renamings(4)
	assert.Len(t, all, 24)
	for _, r := range all {
		assert.Equal(t, all[0], r.inverse().after(r))
		assert.Equal(t, memberstate.Nobody, r.of(memberstate.Nobody))
	}
}

// The successors of a node are worked out for one node of each orbit. For the others they must be the same, and their
// paths must be possible.
func TestSuccessorsAreSymmetric(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	for name, b := range smallBounds {
		t.Run(name, func(t *testing.T) {
			x := begunWithin(t, name)
			random := rand.New(rand.NewPCG(1, 2))
			shared := 0
			for at := 0; at < x.states.count; at += 5 {
				s := x.states.state(int32(at))
				i := random.IntN(b.Members)
				key := x.someone(random, &s, i)
				if does := x.model.expansion(&key).successors; len(does) > 0 && random.IntN(2) == 0 {
					s = x.model.apply(&s, i, &does[0]) // where not all has been said yet that is said at once
					key = x.someone(random, &s, i)
				}
				if like, by := x.model.canonicalKey(&key); by != 0 {
					shared++
					again, stays := x.model.canonicalKey(&like)
					require.Equal(t, like, again)
					require.Zero(t, stays)
				}
				x.assertSame(t, &key)
			}
			assert.Greater(t, shared, 50)
		})
	}
}

// someone is a node with some of the messages that it may receive, with the members in any seats.
func (x *worker) someone(random *rand.Rand, s *state, i int) expansionKey {
	key := x.key(s, i)
	for id := range key.mayReceive.all {
		if random.IntN(4) == 0 {
			key.mayReceive.remove(id)
		}
	}
	by := random.IntN(len(x.model.renamings))
	return expansionKey{x.model.renameNode(key.node, by), key.othersTerm, x.model.renameMessages(&key.mayReceive, by)}
}

// assertSame compares the cached successors of a node with those that are worked out for it.
func (x *worker) assertSame(t *testing.T, key *expansionKey) {
	t.Helper()
	m := x.model
	l := m.expansion(key)
	assert.Equal(t, doings(m.computeExpansion(key).expansion), doings(l))
	like := expansionKey{m.renameNode(key.node, l.seats), key.othersTerm, m.renameMessages(&key.mayReceive, l.seats)}
	base := m.silentClosure(&like)
	for i := range l.successors {
		does := &l.successors[i]
		require.Less(t, does.predecessor, len(base))
		assert.True(t, slices.ContainsFunc(m.resultsOf(base[does.predecessor].node, does.input), func(s stepResult) bool {
			return s.node == m.renameNode(does.node, l.seats)
		}), "the reported path leads elsewhere")
	}
}

// fingerprint tells results apart.
func fingerprint(of ...any) string { return fmt.Sprint(of...) }

// doings are the successors of a node, in an order that does not depend on how they were found.
func doings(l *expansion) (all []string) {
	sorted := func(sent []messageID) []messageID { return slices.Sorted(slices.Values(sent)) }
	for _, s := range l.successors {
		all = append(all, fingerprint("next", s.node, sorted(s.sent), s.ended))
	}
	slices.Sort(all)
	return append(all, fingerprint("sent", sorted(l.sent), l.eagerCandidacy, sorted(l.eagerSent), l.violation == nil, l.lease, l.silentNodes, l.otherInputs))
}
