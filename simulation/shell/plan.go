// This file draws the plan of a world from its seed.

package shell

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// plan is the nodes and the groups of a world.
type plan struct {
	rates  []float64 // of the nodes' clocks
	groups []*groupPlan
	trouble, longest,
	beat time.Duration // how long faults strike, the longest detection time, and the shortest heartbeat
	judged bool // one function of a process judges the engines of all its groups
	beats  bool // nodes exchange beats
	mixed  bool // but some processes do not
}

// groupPlan holds the settings of a group. Members may deviate from some, see rules.
type groupPlan struct {
	name      string
	index     int
	members   []memberstate.Member
	voters    []int // the nodes that vote
	others    []int // the nodes that observe
	timing    elector.Timing
	preferred []string
	leases    bool // the usual setting of a member, like the next two
	noPreVote bool
	noRanks   bool
	lead      bool // engines have a Lead; else they watch
	pause     bool // engines have a Pause
	slow      bool // callbacks take time
	vouching  vouching
}

const (
	mostNodes  = 7
	mostGroups = 8
	// mostBeats bounds how many heartbeats are sent while faults strike, so that no seed
	// takes much longer than the others.
	mostBeats = 12_000
)

func draw(seed uint64) *plan {
	r := random(seed, "plan")
	p := &plan{beat: time.Duration(20e6 * math.Pow(100, r.Float64()))}
	nodes := 1 + r.IntN(mostNodes)
	if r.IntN(3) > 0 {
		nodes = 3 + r.IntN(3)
	}
	margin := 0.02 + 0.2*r.Float64() // of a detection time
	for range nodes {
		p.rates = append(p.rates, 1+0.4*margin*(2*r.Float64()-1))
	}
	groups := 1 + r.IntN(3)
	if r.IntN(4) == 0 {
		groups = 1 + r.IntN(mostGroups)
	}
	beats := 0.0 // a second
	for i := range groups {
		g := p.group(r, i, nodes, margin)
		p.groups = append(p.groups, g)
		p.longest = max(p.longest, g.timing.Detection())
		beats += float64(len(g.members)) / g.timing.Heartbeat.Seconds()
	}
	p.judged = r.IntN(4) == 0
	p.beats = r.IntN(3) > 0
	p.mixed = p.beats && random(seed, "mixed").IntN(3) == 0
	p.trouble = min(40*p.longest, time.Duration(mostBeats/beats*float64(time.Second)))
	return p
}

func (p *plan) group(r *rand.Rand, index, nodes int, margin float64) *groupPlan {
	g := &groupPlan{name: fmt.Sprintf("g%d", index), index: index}
	there := r.Perm(nodes)
	if r.IntN(2) == 0 {
		there = there[:1+r.IntN(nodes)]
	}
	voters := len(there)
	if voters > 1 && r.IntN(3) == 0 {
		voters = 1 + r.IntN(voters)
	}
	g.voters, g.others = there[:voters], there[voters:]
	for i, n := range there {
		g.members = append(g.members, memberstate.Member{ID: nodeName(n), Observer: i >= voters})
	}
	leak := 2 + r.IntN(4)
	switch r.IntN(12) {
	case 0, 1, 2:
		leak = 2 + r.IntN(11)
	case 3:
		leak = 2 + r.IntN(99)
	}
	beat := min(time.Duration(float64(p.beat)*(1+3*r.Float64())), 2*time.Second)
	detection := time.Duration(leak) * beat
	wait := max(beat/10, 2*time.Millisecond)
	g.timing = elector.Timing{
		Heartbeat: beat, Leak: leak, MinVoteWait: wait, MaxVoteWait: wait + max(time.Duration(float64(beat)*2*r.Float64()), time.Millisecond),
		RoundTimeout: max(time.Duration(float64(beat)*(0.5+r.Float64())), 2*time.Millisecond),
		DriftMargin:  time.Duration(margin * float64(detection)),
	}
	if r.IntN(4) == 0 {
		g.preferred = []string{nodeName(g.voters[r.IntN(voters)])}
	}
	g.leases, g.noPreVote, g.noRanks = r.IntN(2) == 0, r.IntN(6) == 0, r.IntN(6) == 0
	g.lead, g.pause, g.slow = r.IntN(6) > 0, r.IntN(3) > 0, r.IntN(2) == 0
	if r.IntN(3) == 0 {
		g.vouching = vouching{counts: time.Duration(float64(beat) * (2.5 + 4*r.Float64())), asked: r.IntN(2) == 0}
	}
	return g
}

// rules draws the settings of a member that joins. Each may differ from the group's.
func (g *groupPlan) rules(r *rand.Rand) (leases, noPreVote, noRanks bool) {
	odd := func(usual bool) bool { return usual != (r.IntN(8) == 0) }
	return odd(g.leases), odd(g.noPreVote), odd(g.noRanks)
}

// timingAt is the group's timing at a node whose clock runs at this rate. All hosts of a
// bubble share one clock, so a node with a fast clock has shorter intervals instead. The
// times in messages are converted in transit.
func (g *groupPlan) timingAt(rate float64) elector.Timing {
	by := func(d time.Duration) time.Duration { return time.Duration(float64(d) / rate) }
	t := g.timing
	return elector.Timing{
		Heartbeat: by(t.Heartbeat), Leak: t.Leak, MinVoteWait: by(t.MinVoteWait), MaxVoteWait: by(t.MaxVoteWait),
		RoundTimeout: by(t.RoundTimeout), DriftMargin: by(t.DriftMargin),
	}
}

func (g *groupPlan) quorum() int { return len(g.voters)/2 + 1 }

// nodes lists the nodes that have a member of the group.
func (g *groupPlan) nodes() []int { return slices.Concat(g.voters, g.others) }

func (g *groupPlan) has(node int) bool { return slices.Contains(g.nodes(), node) }

func (g *groupPlan) votes(node int) bool { return slices.Contains(g.voters, node) }

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

// nodeOf is the index of the node with a name; -1 if the name is not a node's.
func nodeOf(name string) int {
	if len(name) == 2 && name[0] == 'n' {
		return int(name[1] - '0')
	}
	return -1
}

// random is the source of random numbers for one part of a world. Each part has its own, so
// that the order in which goroutines draw does not matter.
func random(seed uint64, part string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(part) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// upTo draws from [0, most).
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(r.Int64N(int64(most)))
}
