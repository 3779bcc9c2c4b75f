package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// A renaming and its inverse change nothing, and there are as many renamings as permutations.
func TestRenamings(t *testing.T) {
	all := renamings(4)
	assert.Len(t, all, 24)
	for _, r := range all {
		assert.Equal(t, all[0], r.back().after(r))
		assert.Equal(t, memberstate.Nobody, r.of(memberstate.Nobody))
	}
}

// The successors of a node are worked out for one node of each orbit. For the others they must be the same, and their
// paths must be possible.
func TestSuccessorsAreSymmetric(t *testing.T) {
	long(t)
	for name, b := range smallBounds {
		t.Run(name, func(t *testing.T) {
			x := begunWithin(t, name)
			random := rand.New(rand.NewPCG(1, 2))
			shared := 0
			for at := 0; at < x.states.count; at += 5 {
				s := x.states.state(int32(at))
				i := random.IntN(b.Members)
				key := x.someone(random, &s, i)
				if does := x.model.local(&key).next; len(does) > 0 && random.IntN(2) == 0 {
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

// someone is a node with some of the messages that it may hear, with the members in any seats.
func (x *worker) someone(random *rand.Rand, s *state, i int) localKey {
	key := x.key(s, i)
	for id := range key.heard.all {
		if random.IntN(4) == 0 {
			key.heard.remove(id)
		}
	}
	by := random.IntN(len(x.model.renamings))
	return localKey{x.model.renameNode(key.node, by), key.most, x.model.renameSaid(&key.heard, by)}
}

// assertSame compares the cached successors of a node with those that are worked out for it.
func (x *worker) assertSame(t *testing.T, key *localKey) {
	t.Helper()
	m := x.model
	l := m.local(key)
	assert.Equal(t, doings(m.workLocal(key).local), doings(l))
	like := localKey{m.renameNode(key.node, l.by), key.most, m.renameSaid(&key.heard, l.by)}
	base := m.silently(&like)
	for i := range l.next {
		does := &l.next[i]
		require.Less(t, does.after, len(base))
		assert.True(t, slices.ContainsFunc(m.take(base[does.after].node, does.input), func(s stepResult) bool {
			return s.node == m.renameNode(does.node, l.by)
		}), "the reported path leads elsewhere")
	}
}

// fingerprint tells results apart.
func fingerprint(of ...any) string { return fmt.Sprint(of...) }

// doings are the successors of a node, in an order that does not depend on how they were found.
func doings(l *local) (all []string) {
	sorted := func(says []messageID) []messageID { return slices.Sorted(slices.Values(says)) }
	for _, s := range l.next {
		all = append(all, fingerprint("next", s.node, sorted(s.says), s.ended))
	}
	slices.Sort(all)
	return append(all, fingerprint("says", sorted(l.says), l.eagerCandidacy, sorted(l.eagerSays), l.wrong == nil, l.lease, l.silent, l.others))
}
