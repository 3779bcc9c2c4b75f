package explore

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/trace"
)

// The simulator and the explorer are separate programs around the same code. So the explorer must know every state
// that a simulated group reaches in its first two terms, with all faults of networks, processes, disks, engines and clocks.
func TestTheExplorerCoversTheSimulator(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	x := everything(t, Bounds{Members: 3, Terms: 2, Beats: 1, Entries: 1, NoTransfer: true, Ability: true})
	known := map[faces]bool{}
	for i := range x.states.count {
		s := x.states.state(int32(i))
		for _, f := range x.faces(&s) {
			known[f] = true
		}
	}
	faults, err := simulation.ParseFaults("network,process,disk,clock,engine")
	require.NoError(t, err)
	seen := map[faces]bool{}
	for seed := range uint64(300) {
		drawn, err := simulation.Options{Seed: seed, Members: 3, Faults: faults, Duration: 10 * time.Second}.Trace()
		require.NoError(t, err)
		var now faces
		for i := range drawn.Moments {
			m := &drawn.Moments[i]
			now[m.Node] = faceOf(&m.State)
			if slices.ContainsFunc(now[:], func(f face) bool { return f.term > 2 }) {
				break
			}
			canonical := now.canonical(x.model.renamings)
			require.True(t, known[canonical], "seed %d, %v: the explorer has never seen %+v", seed, m.At, now)
			seen[canonical] = true
		}
	}
	t.Logf("the simulator got to %d of %d", len(seen), len(known))
	require.Greater(t, len(seen), len(known)/4, "the simulator does not get about")
}

// face is a node as seen from outside.
type face struct {
	role         memberstate.Role
	term         memberstate.Term
	vote, leader memberstate.Seat
}

type faces [3]face

// faceOf is a node's face in a trace. A node that is down will start with its durable state.
func faceOf(s *trace.NodeState) face {
	if !s.Up {
		return face{memberstate.Candidate, s.Durable, memberstate.Seat(s.DurableVote + 1), memberstate.Nobody}
	}
	return face{s.Role, s.Term, memberstate.Seat(s.Vote + 1), memberstate.Seat(s.Leader + 1)}
}

// faces are all that a state can silently become.
func (x *been) faces(s *state) (all []faces) {
	all = []faces{{}}
	for i := range all[0] {
		var mine []face
		key := x.key(s, i)
		for _, at := range x.model.silentClosure(&key) {
			m := &x.model.nodes[at.node].session
			if f := (face{m.Role, m.Term, m.Vote, m.Leader}); !slices.Contains(mine, f) {
				mine = append(mine, f)
			}
		}
		var longer []faces
		for _, f := range mine {
			for _, others := range all {
				others[i] = f
				longer = append(longer, others)
			}
		}
		all = longer
	}
	for i := range all {
		all[i] = all[i].canonical(x.model.renamings)
	}
	return all
}

// canonical is the same in the first of all seatings.
func (f faces) canonical(names []renaming) faces {
	least := f
	for _, r := range names {
		var other faces
		for i, k := range f {
			k.vote, k.leader = r.of(k.vote), r.of(k.leader)
			other[r[i]] = k
		}
		if slices.CompareFunc(other[:], least[:], compareFaces) < 0 {
			least = other
		}
	}
	return least
}

func compareFaces(a, b face) int {
	return slices.Compare(
		[]uint64{uint64(a.role), uint64(a.term), uint64(a.vote), uint64(a.leader)},
		[]uint64{uint64(b.role), uint64(b.term), uint64(b.vote), uint64(b.leader)},
	)
}
