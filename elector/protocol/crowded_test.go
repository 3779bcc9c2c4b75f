// Very many groups that start at once, at nodes whose network carries only so many messages a second. If more are sent,
// each waits behind all that were sent before, in a queue that drops the oldest when it is full.

package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// crowded are three nodes with the same groups, in virtual time.
type crowded struct {
	now   time.Duration
	rate  int // messages that each link carries in a step
	nodes []*crowdedNode
	led   int // groups that a node leads
}

// step is how time passes.
const step = time.Millisecond

// mostWaiting is how many messages wait at most, as in grpcrpc.
const mostWaiting = 1 << 16

func newCrowded(t *testing.T, groups, rate int) *crowded {
	t.Helper()
	c := &crowded{now: time.Second, rate: rate}
	ids := []string{"n0", "n1", "n2"}
	members, err := memberstate.NewMembers(memberstate.Voters(ids...))
	require.NoError(t, err)
	timing := DefaultTiming()
	timing.Leak = 10
	for i, id := range ids {
		d := &crowdedNode{crowded: c, random: rand.New(rand.NewPCG(uint64(i), 0)), named: make(map[string]*Group), links: make(map[string]*crowdedLink)}
		d.node = NewNode(id, d)
		d.node.Exchange(1, uint16(i), d)
		d.node.At(c.now)
		e := &Electorate{Members: members, Rules: Rules{
			Self: memberstate.Seat(i + 1), Voters: members.Voters(), All: members.All(), Timing: timing, PreVote: true, Ranks: true,
		}}
		for k := range groups {
			engine := &crowdedEngine{at: d}
			g := NewGroup(e, fmt.Sprint("g", k), engine)
			engine.group = &g
			require.NoError(t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
			d.named[g.name], d.groups = &g, append(d.groups, &g)
		}
		c.nodes = append(c.nodes, d)
	}
	for _, d := range c.nodes {
		for _, to := range c.nodes {
			if to != d {
				d.links[to.node.self] = &crowdedLink{to: to}
			}
		}
		for _, g := range d.groups {
			d.node.Start(g)
		}
	}
	return c
}

// pass has a step pass: what has arrived is handled, and then what it has led to.
func (c *crowded) pass() {
	c.now += step
	for _, d := range c.nodes {
		d.node.At(c.now)
	}
	for _, d := range c.nodes {
		for _, to := range c.nodes {
			if l := d.links[to.node.self]; l != nil {
				l.carry(c.rate)
			}
		}
	}
	for _, d := range c.nodes {
		for again := true; again; {
			d.node.EndTurn()
			again = len(d.asked) > 0 || d.saves
			d.answer()
		}
	}
}

// crowdedNode is a node with its links. Its engines and its disk take no time.
type crowdedNode struct {
	counting
	*crowded
	node   *Node
	random *rand.Rand
	groups []*Group
	named  map[string]*Group
	links  map[string]*crowdedLink
	asked  []*Group // whose ledgers are
	saves  bool
}

func (d *crowdedNode) answer() {
	if d.saves {
		d.saves = false
		d.node.Saved(nil)
	}
	asked := d.asked
	d.asked = nil
	for _, g := range asked {
		d.node.LedgerEnd(g, memberstate.Position{}, 0, nil)
	}
}

func (d *crowdedNode) Draw(_ *Group, a Alarm) time.Duration {
	return a.Min + time.Duration(d.random.Int64N(int64(a.Max-a.Min)+1))
}

func (d *crowdedNode) Send(to string, batch []rpc.Message)         { d.links[to].put(batch) }
func (d *crowdedNode) SendBeat(to string, b *rpc.Beat)             { d.links[to].beat = b.Clone() }
func (d *crowdedNode) Save([]memberstate.Record)                   { d.saves = true }
func (d *crowdedNode) AskStalled(time.Duration) bool               { return false }
func (d *crowdedNode) Groups() []*Group                            { return d.groups }
func (d *crowdedNode) Group(name string) *Group                    { return d.named[name] }
func (d *crowdedNode) HoldShared(uint32, time.Duration)            {}
func (d *crowdedNode) Progress(Progress)                           {}
func (d *crowdedNode) Drop(Drop, int)                              {}
func (d *crowdedNode) Rests(*Group, uint32)                        {}
func (d *crowdedNode) CohortHeard(uint32, time.Duration)           {}
func (d *crowdedNode) QuorumHeard(*Group, time.Duration)           {}
func (d *crowdedNode) NotTransferred(*Group, *TransferError, bool) {}

// crowdedEngine is the engine of a group.
type crowdedEngine struct {
	at    *crowdedNode
	group *Group
	leads bool
}

func (e *crowdedEngine) Show(v View) {
	if leads := v.Role == memberstate.Leader; leads != e.leads {
		e.leads = leads
		if leads {
			e.at.led++
		} else {
			e.at.led--
		}
	}
}

func (e *crowdedEngine) AskLedger(memberstate.Term) { e.at.asked = append(e.at.asked, e.group) }
func (e *crowdedEngine) EndLead(term memberstate.Term) {
	e.at.node.LeadReturned(e.group, term, false, nil)
}
func (e *crowdedEngine) Lead(memberstate.Term)          {}
func (e *crowdedEngine) Hold(time.Duration)             {}
func (e *crowdedEngine) Share(uint32)                   {}
func (e *crowdedEngine) Pause(memberstate.Term, uint32) {}
func (e *crowdedEngine) Resume()                        {}
func (e *crowdedEngine) Vouched() bool                  { return false }
func (e *crowdedEngine) AskHealth() bool                { return false }
func (e *crowdedEngine) Obey(*Rules)                    {}
func (e *crowdedEngine) Ended(error)                    {}

// crowdedLink carries messages to a node, and beats before them.
type crowdedLink struct {
	to      *crowdedNode
	waiting []rpc.Message
	beat    *rpc.Beat
}

func (l *crowdedLink) put(batch []rpc.Message) {
	l.waiting = append(l.waiting, batch...)
	l.waiting = l.waiting[max(len(l.waiting)-mostWaiting, 0):]
}

func (l *crowdedLink) carry(most int) {
	if l.beat != nil {
		l.to.node.Beat(l.beat)
		l.beat = nil
	}
	arrive := l.waiting[:min(most, len(l.waiting))]
	l.waiting = l.waiting[len(arrive):]
	for i := range arrive {
		l.to.node.Deliver(l.to.named[arrive[i].Group], &arrive[i])
	}
}

// Each of the six links carries 40 messages in a step, which is enough for 15,000 groups in a second: a group needs 16, for
// a round of pre-votes, one of votes, and two heartbeats.
func TestManyGroupsThatStartAtOnceAreLedAlthoughTheNetworkIsSlow(t *testing.T) {
	const groups, within = 20_000, 5 * time.Second
	c := newCrowded(t, groups, 40)
	for began := c.now; c.led < groups; c.pass() {
		if c.now-began > within {
			require.Fail(t, "it takes too long", "%d groups are led", c.led)
		}
	}
}

func (d *crowdedNode) Outdated(error)                      {}
func (d *crowdedNode) OlderProcess(string, uint64, uint64) {}
