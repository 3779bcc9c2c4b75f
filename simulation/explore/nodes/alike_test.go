package nodes

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/rpc"
)

// Nodes that have one digest, and other pasts, go on alike, whatever happens to them. So a digest that left out what
// counts would be noticed here.
func TestNodesWithOneDigestBehaveAlike(t *testing.T) {
	effort.Alone(t)
	x := newSearch(Options{Bounds: Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 4, Ends: 1, Inabilities: 1, Waits: 1, Changes: 1, FollowerRestarts: 1}, MaxStates: effort.Of[uint64](20_000, 3_000)})
	x.run(t.Context())
	random := rand.New(rand.NewPCG(1, 2))
	met := 0
	for range effort.Of(100_000, 10_000) {
		a, b, moment := x.table.twins(random)
		if a == nil {
			continue
		}
		met++
		require.Equal(t, a.digest(), b.digest())
		goOn(t, &x.table.parcels, random, a, b, moment)
	}
	assert.Greater(t, met, 100, "there are nodes that were reached in two ways")
}

// twins are two processes that a search takes for the same, if it draws some.
func (t *table) twins(random *rand.Rand) (a, b *process, moment int) {
	id := random.IntN(len(t.nodes))
	moment = random.IntN(t.bounds.Moments)
	after := t.nodes[id].after[moment]
	if len(after) == 0 {
		return nil, nil, 0
	}
	by := event{input(random.IntN(len(after))), moment}
	if after[by.input] == 0 {
		return nil, nil, 0
	}
	to := t.outcomes[after[by.input]-1].node
	if to < 0 || t.nodes[to].before == id && t.nodes[to].by == by || to == id {
		return nil, nil, 0
	}
	a, b = t.remake(to), t.remake(id)
	b.apply(by.input, t.parcel(by.input), moment)
	return a, b, moment
}

// goOn has the same happen to both.
func goOn(t *testing.T, all *parcels, random *rand.Rand, a, b *process, moment int) {
	t.Helper()
	for range 8 {
		var q *parcel
		in := newInput(kind(random.IntN(int(stands))), 0)
		if random.IntN(3) > 0 {
			in = firstParcel + input(random.IntN(len(all.all)))
			q = &all.all[in-firstParcel]
		}
		if q != nil && (q.to != a.index || q.isAnswerToCome(a) || q.isToLater(a)) {
			continue
		}
		moment += random.IntN(8) / 7
		if moment == mostMoments {
			return
		}
		require.Equal(t, a.apply(in, q, moment), b.apply(in, q, moment), in.name(all))
		require.Equal(t, a.facts(), b.facts(), in.name(all))
		require.Equal(t, kindsOf(a.sent), kindsOf(b.sent), in.name(all))
		require.Equal(t, a.defect, b.defect)
	}
}

// isAnswerToCome says whether it answers a heartbeat that has not been sent. Nodes with one digest may give different
// numbers to heartbeats that they are yet to send.
func (p *parcel) isAnswerToCome(to *process) bool {
	return p.beat == nil && p.message.Kind == rpc.HeartbeatResponse && p.message.Round > to.members[0].beat
}

// isToLater says whether it is meant for a process that is yet to start.
func (p *parcel) isToLater(to *process) bool {
	switch {
	case p.beat != nil:
		return p.beat.Of > to.disk.starts
	case p.message.Bond != nil:
		return p.message.Bond.Of > to.disk.starts
	}
	return false
}

// kindsOf are what was sent, without numbers.
func kindsOf(sent []parcel) (all []rpc.Kind) {
	for _, p := range sent {
		all = append(all, p.message.Kind)
	}
	return all
}
