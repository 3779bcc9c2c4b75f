// The muster: how many campaigns of one node are under way at a time (D17).
//
// When a node dies, all groups that it led miss their leader at once. If all of their members stood at that
// moment, each round of votes would wait for all others, and end before its answers are handled. Everybody
// would ask again, and nobody would be elected. So a node begins only so many campaigns at a time. The
// others wait in the order in which their alarms rang. Groups in which it is another member's turn rang
// later, so they wait behind those in which it is this one's, and most of them never stand: the other
// member asks for their votes meanwhile.
//
// A campaign keeps its place while its first round is under way. A candidate that is not elected then waits for a
// random time, and asks again without waiting in the queue, too: in the same queues at two nodes the same
// candidates would meet again and again, and only the random time separates them. It may do so for about as long as
// it takes to ask twice, and then waits in the queue again. So of the candidates that fail, only a few times as many as
// there are places ask in that time.
//
// To the machine, a campaign that waits is an alarm that rings late, as on a busy computer. So the muster
// decides nothing that safety depends on.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// muster is the campaigns of a node that wait, and those that are under way.
type muster struct {
	most    int // that are under way at a time
	open    int // that are
	begun   campaigns
	waiting campaigns
}

// campaign is a campaign of a group.
type campaign struct {
	group *Group
	alarm uint32        // that rang for it, ...
	due   time.Duration // ... and when that was due. If another one is set meanwhile, it is off
	until time.Duration // once it is under way, how long it keeps others waiting at most. Its engine may hang
}

// usualCampaigns keeps a node busy, and is handled well before its rounds end.
const usualCampaigns = 1024

// LimitCampaigns bounds the campaigns that the node has under way at a time. Without it, the bound suits real
// nodes.
func (n *Node) LimitCampaigns(most int) { n.muster.most = most }

// queues says whether a campaign begins when the group's alarm rings, and so waits in the queue. An alarm within a round
// goes on with it.
func (n *Node) queues(g *Group) bool {
	x := g.transient()
	return g.begins() && (x == nil || n.now >= x.repeats)
}

// begins says whether a round begins when the alarm rings.
func (m *Machine) begins() bool { return m.Role == memberstate.Candidate && m.round.phase == idle }

// campaign begins the campaigns that wait, as many as there is room for.
func (n *Node) campaign() {
	m := &n.muster
	m.begun.drop(func(c *campaign) bool {
		x := c.group.transient()
		if x != nil && x.campaigns && n.now >= c.until {
			m.end(x)
		}
		return x == nil || !x.campaigns
	})
	m.waiting.drop(func(c *campaign) bool {
		switch g := c.group; {
		case !g.running || g.desk == nil || g.due != c.due:
			return true // it follows a leader, or has voted for another
		case m.open >= m.most:
			return false
		default:
			x := n.transientOf(g)
			if !x.campaigns {
				x.campaigns = true
				m.open++
			}
			c.until = n.now + g.Rules.Timing.Detection()
			x.repeats = c.until + g.Rules.Timing.MaxVoteWait
			m.begun.add(*c)
			n.give(g, &Input{Kind: Ring, Number: c.alarm}, purpose{})
			return true
		}
	})
}

// end notes that a campaign keeps others waiting no more.
func (m *muster) end(x *transient) {
	if x.campaigns {
		x.campaigns = false
		m.open--
	}
}

// due is when campaign has to be called at the latest; false if only others can change something.
func (m *muster) due() (at time.Duration, waits bool) {
	if !m.waiting.waits() || !m.begun.waits() {
		return 0, m.waiting.waits()
	}
	return m.begun.all[m.begun.first].until, true
}

// campaigns is a queue.
type campaigns struct {
	all   []campaign
	first int // before it there are none any more
}

func (q *campaigns) waits() bool { return q.first < len(q.all) }

func (q *campaigns) add(c campaign) { q.all = append(q.all, c) }

// drop drops those at the front, until one is to stay.
func (q *campaigns) drop(gone func(*campaign) bool) {
	for q.waits() && gone(&q.all[q.first]) {
		q.first++
	}
	switch {
	case !q.waits():
		clear(q.all)
		q.all, q.first = emptied(q.all), 0
	case q.first > len(q.all)/2:
		q.all, q.first = slices.Delete(q.all, 0, q.first), 0
	}
}
