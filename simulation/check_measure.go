// What the invariants measure by: who votes, how many are a majority, and how long things
// may take. The world knows that from its own options. It asks no code that it judges, for
// what is wrong there would be wrong here, too, and nobody would notice.

package simulation

import (
	"math/bits"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// majority is more than half of the voters.
func (o *Options) majority() int { return o.Members/2 + 1 }

// detection is how long a leader may be silent.
func (o *Options) detection() time.Duration { return time.Duration(o.Timing.Leak) * o.Timing.Heartbeat }

// leaseLasts is how long a lease lasts after the heartbeat that it rests on has left.
func (o *Options) leaseLasts() time.Duration { return o.detection() - o.Timing.DriftMargin }

// votes says whether a node is a voter. Voters are the first nodes; a twin of one counts
// for nothing.
func (w *world) votes(index int) bool { return index < w.options.Members }

// observes says whether a node learns who leads and has no voice.
func (w *world) observes(n *node) bool { return int(n.seat) > w.options.Members }

// voters is a set of voters, a bit for each by its index.
type voters uint16

func (v voters) with(index int) voters { return v | 1<<index }

func (v voters) count() int { return bits.OnesCount16(uint16(v)) }

// reaches is the largest number that a majority of the voters has got to.
func (o *Options) reaches(all []uint64) uint64 {
	var sorted [maxMembers]uint64
	have := sorted[:copy(sorted[:o.Members], all)]
	for i := 1; i < len(have); i++ { // there are few
		for k := i; k > 0 && have[k-1] < have[k]; k-- {
			have[k-1], have[k] = have[k], have[k-1]
		}
	}
	return have[o.majority()-1]
}

// behind says whether a ledger that ends at p lacks something that one up to q has, as far as
// their ends tell.
func behind(p, q memberstate.Position) bool {
	return p.Term < q.Term || p.Term == q.Term && p.Index < q.Index
}
