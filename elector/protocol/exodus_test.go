// Very many groups leave their bonds at once, and others keep theirs.

package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// shore is a node with very many groups, of which it leads all or follows all. What it sends waits.
type shore struct {
	*recorder // the engine of all groups, which asks for nothing
	node      *Node
	groups    []*Group
	byName    map[string]*Group
	messages  []rpc.Message
	beats     []*rpc.Beat
	saves     bool
	judges    bool // whether there is a function that judges all engines
}

func (s *shore) Groups() []*Group                   { return s.groups }
func (s *shore) Group(name string) *Group           { return s.byName[name] }
func (s *shore) Send(_ string, batch []rpc.Message) { s.messages = append(s.messages, batch...) }
func (s *shore) SendBeat(_ string, b *rpc.Beat)     { s.beats = append(s.beats, b.Clone()) }
func (s *shore) Save([]memberstate.Record)          { s.saves = true }

// Draw lets candidates wait for longer than a test lasts.
func (s *shore) Draw(g *Group, a Alarm) time.Duration {
	if g.Role == memberstate.Candidate {
		return a.Min + time.Minute
	}
	return a.Min
}

func (s *shore) AskStalled(time.Duration) bool    { return s.judges }
func (s *shore) HoldShared(uint32, time.Duration) {}

// crossing is two nodes. The first leads all groups, and a round trip takes a millisecond.
type crossing struct{ leads, follows *shore }

func newCrossing(t *testing.T, groups int) *crossing {
	t.Helper()
	members, err := memberstate.NewMembers(memberstate.Voters("n0", "n1"))
	require.NoError(t, err)
	var all [2]*shore
	for i := range all {
		id := fmt.Sprint("n", i)
		s := &shore{byName: map[string]*Group{}, recorder: &recorder{t: t}}
		s.node = NewNode(id, s)
		s.node.Exchange(1, uint16(i), s)
		s.node.At(time.Second)
		e := &Electorate{Members: members, Rules: Rules{
			Self: memberstate.Seat(i + 1), Voters: members.Voters(), All: members.All(), Timing: DefaultTiming(), PreVote: true, Ranks: true,
		}}
		for j := range groups {
			g := NewGroup(e, fmt.Sprint("g", j), s)
			require.NoError(t, g.Restore(memberstate.Record{Term: 1, Voters: members.Digest()}, true, memberstate.Position{}))
			s.groups = append(s.groups, &g)
			s.byName[g.name] = &g
			s.node.Start(&g)
			if i == 0 { // it has been elected
				g.Role, g.Leader, g.Vote = memberstate.Leader, 1, 1
				g.duty().lead = lead{term: 1, running: true}
				s.node.alarms.set(&g, s.node.now)
			}
		}
		all[i] = s
	}
	return &crossing{all[0], all[1]}
}

// passes lets time pass, in turns of a millisecond.
func (c *crossing) passes(d time.Duration) {
	for end := c.leads.node.now + d; c.leads.node.now < end; {
		now := c.leads.node.now + time.Millisecond
		for _, way := range [][2]*shore{{c.leads, c.follows}, {c.follows, c.leads}} {
			from, to := way[0], way[1]
			messages, beats := from.messages, from.beats
			from.messages, from.beats = nil, nil
			to.node.At(now)
			for _, b := range beats {
				to.node.Beat(b)
			}
			for i := range messages {
				to.node.Deliver(to.byName[messages[i].Group], &messages[i])
			}
			for to.node.EndTurn(); to.saves; to.node.EndTurn() {
				to.saves = false
				to.node.Saved(nil)
			}
		}
	}
}

// As many groups leave at once as one node is likely to lead. Those that stay do not notice: the leavings are told
// one full beat after another, and the first does not wait until one is due.
func TestAnExodusStarvesNoBond(t *testing.T) {
	const leave, stay = 70_000, 1_000
	c := newCrossing(t, leave+stay)
	c.passes(2*time.Second + 20*time.Millisecond) // it is no time at which a beat is due
	require.Empty(t, c.leads.beats)
	for _, g := range c.follows.groups {
		require.True(t, g.Bonded())
	}
	link := &c.leads.node.peers.members["n1"].link
	session := link.own
	c.leads.node.At(c.leads.node.now + time.Millisecond)
	for _, g := range c.leads.groups[:leave] {
		c.leads.node.End(g)
	}
	c.leads.node.EndTurn()
	assert.NotEmpty(t, c.leads.beats, "it begins to tell at once")
	began := c.leads.node.now
	for link.untold() > 0 {
		c.passes(time.Millisecond)
	}
	timing := DefaultTiming()
	assert.LessOrEqual(t, c.leads.node.now-began, (leave/rpc.MaxLeavings+2)*time.Millisecond, "a round trip for each full beat")
	c.passes(2 * timing.Detection())
	assert.Equal(t, session, link.own, "no session has ended")
	for i, g := range c.follows.groups[leave:] {
		assert.True(t, g.Bonded())
		assert.True(t, c.leads.groups[leave+i].Rests())
	}
}

// Whichever end they leave from, it begins to tell of more than a beat has room for at once, and keeps only so many.
func TestWhatLeavesIsToldAtOnceAndBounded(t *testing.T) {
	for name, of := range map[string]func(*crossing) (from *shore, to string, kept *[]rpc.Leaving){
		"releases": func(c *crossing) (*shore, string, *[]rpc.Leaving) {
			return c.leads, "n1", &c.leads.node.peers.members["n1"].link.released.kept
		},
		"departures": func(c *crossing) (*shore, string, *[]rpc.Leaving) {
			return c.follows, "n0", &c.follows.node.peers.members["n0"].link.departed.kept
		},
	} {
		const room = 4
		c := newCrossing(t, room+3)
		c.passes(2*time.Second + 20*time.Millisecond)
		from, to, kept := of(c)
		p := from.node.peers.members[to]
		from.node.LimitLeavings(room)
		for i, g := range from.groups[:room+1] {
			assert.False(t, p.reply, "%s: %d fit in the next beat", name, i)
			from.node.End(g)
		}
		assert.True(t, p.reply, name)
		session := p.link.own
		*kept = make([]rpc.Leaving, mostLeavings)
		from.node.End(from.groups[room+1])
		assert.NotEqual(t, session, p.link.own, "%s: the session has ended", name)
		assert.Empty(t, *kept, name)
		assert.False(t, from.groups[room+2].quiet(), "%s: and all bonds with it", name)
	}
}

func (s *shore) Outdated(error)                      {}
func (s *shore) OlderProcess(string, uint64, uint64) {}
