// Three whole nodes in virtual time. Here they have very many groups that start at once, and a network that carries only so
// many messages a second. If more are sent, each waits behind all that were sent before, in a queue that drops the oldest
// when it is full. In twice_test.go they have few groups, and trouble.

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
	*testing.T
	now    time.Duration
	rate   int // messages that each link carries in a step
	nodes  []*crowdedNode
	led    int // groups that a node leads
	coming []soon

	judges bool // whether the nodes have functions that judge their engines
	// meets says whether a call is in trouble, and is answered by whoever causes that. Nil: none is.
	meets func(d *crowdedNode, g *Group, what call, answer func(error)) bool
}

// soon is something that happens at a time.
type soon struct {
	at   time.Duration
	what func()
}

// call is a kind of call of an engine, of the disk, or of the function that judges all engines.
type call string

const (
	toDisk   call = "Save"
	toLedger call = "LedgerEnd"
	toPause  call = "Pause"
	toLead   call = "Lead" // from the end of its context
	toJudge  call = "Stalled"
)

// step is how time passes.
const step = time.Millisecond

// mostWaiting is how many messages wait at most, as in grpcrpc.
const mostWaiting = 1 << 16

// newCrowded starts the nodes. The rules are the same for all, but for what follows from the members.
func newCrowded(t *testing.T, groups, rate int, rules Rules) *crowded {
	t.Helper()
	c := &crowded{T: t, now: time.Hour, rate: rate}
	ids := []string{"n0", "n1", "n2"}
	members, err := memberstate.NewMembers(memberstate.Voters(ids...))
	require.NoError(t, err)
	rules.Voters, rules.All, rules.PreVote, rules.Ranks = members.Voters(), members.All(), true, true
	for i, id := range ids {
		rules.Self = memberstate.Seat(i + 1)
		d := &crowdedNode{
			crowded: c, id: id, random: rand.New(rand.NewPCG(uint64(i), 0)), electorate: Electorate{Members: members, Rules: rules},
			named: make(map[string]*Group), links: make(map[string]*crowdedLink), disk: make(map[string]memberstate.Record),
		}
		for k := range groups {
			d.engines = append(d.engines, &crowdedEngine{at: d, name: fmt.Sprint("g", k)})
		}
		c.nodes = append(c.nodes, d)
	}
	for _, d := range c.nodes {
		for _, to := range c.nodes {
			if to != d {
				d.links[to.id] = &crowdedLink{to: to}
			}
		}
		d.start()
	}
	return c
}

// after has something happen after a while.
func (c *crowded) after(wait time.Duration, what func()) {
	c.coming = append(c.coming, soon{c.now + wait, what})
}

// pass has a step pass: what has arrived is handled, and then what it has led to.
func (c *crowded) pass() {
	c.now += step
	for _, d := range c.nodes {
		if d.runs() {
			d.node.At(c.now)
		}
	}
	c.happen()
	for _, d := range c.nodes {
		for _, to := range c.nodes {
			if l := d.links[to.id]; l != nil && to.runs() {
				l.carry(c.rate)
			}
		}
	}
	for _, d := range c.nodes {
		for again := d.runs(); again; {
			d.endLeases()
			d.node.EndTurn()
			again = len(d.asked) > 0 || d.saving != nil
			d.answer()
		}
	}
}

// happen has happen what is due.
func (c *crowded) happen() {
	coming := c.coming
	c.coming = nil
	for _, s := range coming {
		if s.at <= c.now {
			s.what()
		} else {
			c.coming = append(c.coming, s)
		}
	}
}

// next is when something will happen, but not later than a time.
func (c *crowded) next(at time.Duration) time.Duration {
	for _, s := range c.coming {
		at = min(at, s.at)
	}
	for _, d := range c.nodes {
		for _, l := range d.links {
			if l.carries() {
				at = min(at, l.to.stands)
			}
		}
		if d.down {
			continue
		}
		if due, waits := d.node.Next(); waits {
			at = min(at, max(due, d.stands))
		}
		for _, e := range d.engines {
			if e.until != 0 && e.shares == 0 {
				at = min(at, max(e.until, d.stands))
			}
		}
		for _, until := range d.shared {
			at = min(at, max(until, d.stands))
		}
	}
	return at
}

// crowdedNode is a node with its links. Unless they are in trouble, its engines and its disk take no time.
type crowdedNode struct {
	counting
	*crowded
	id         string
	electorate Electorate
	node       *Node
	random     *rand.Rand
	groups     []*Group
	engines    []*crowdedEngine
	named      map[string]*Group
	links      map[string]*crowdedLink
	asked      []*crowdedEngine // for the ends of their ledgers
	saving     []memberstate.Record
	disk       map[string]memberstate.Record
	shared     map[uint32]time.Duration // leases, by their numbers
	starts     uint64                   // of its process
	down       bool                     // its process does not run
	deaf       bool                     // what is sent to it is lost
	stands     time.Duration            // until when its process stands still
}

// start starts a process with what the disk and the ledgers have kept.
func (d *crowdedNode) start() {
	d.starts++
	d.node, d.down = NewNode(d.id, d), false
	d.electorate = Electorate{Members: d.electorate.Members, Rules: d.electorate.Rules}
	d.electorate.Rules.Maintenance = nil
	d.asked, d.saving, d.shared = nil, nil, make(map[uint32]time.Duration)
	d.node.Exchange(d.starts, uint16(d.electorate.Rules.Self), d)
	d.node.At(d.now)
	d.groups = make([]*Group, len(d.engines))
	for i, e := range d.engines {
		d.restore(i, e)
	}
	for _, g := range d.groups {
		d.node.Start(g)
	}
}

// restore makes a group.
func (d *crowdedNode) restore(i int, e *crowdedEngine) {
	if e.leads {
		d.led--
	}
	*e = crowdedEngine{at: d, name: e.name, end: e.end, heard: e.heard, behind: e.behind}
	g := NewGroup(&d.electorate, e.name, e)
	e.group, d.groups[i], d.named[e.name] = &g, &g, &g
	record, known := d.disk[e.name]
	require.NoError(d, g.Restore(record, known, e.end))
}

// dies ends the process. What is on its way to it is lost.
func (d *crowdedNode) dies() {
	d.down = true
	for _, from := range d.nodes {
		if l := from.links[d.id]; l != nil {
			l.waiting, l.beats = nil, nil
		}
	}
}

func (d *crowdedNode) engineOf(group string) *crowdedEngine {
	return d.named[group].engine.(*crowdedEngine)
}

func (d *crowdedNode) runs() bool { return !d.down && d.now >= d.stands }

// later has something happen at the node after a while, if its process is there by then.
func (d *crowdedNode) later(wait time.Duration, what func()) {
	starts := d.starts
	d.after(wait, func() {
		switch {
		case d.down, d.starts != starts:
		case d.now < d.stands:
			d.later(d.stands-d.now, what)
		default:
			what()
		}
	})
}

// inTrouble says whether a call is. Its answer is for the process that has made it.
func (d *crowdedNode) inTrouble(g *Group, what call, answer func(error)) bool {
	starts := d.starts
	return d.meets != nil && d.meets(d, g, what, func(err error) {
		if d.starts == starts && !d.down {
			answer(err)
		}
	})
}

func (d *crowdedNode) answer() {
	if saving := d.saving; saving != nil {
		d.saving = nil
		saved := func(err error) {
			for _, r := range saving {
				d.disk[r.Group] = r
			}
			d.node.Saved(err)
		}
		if !d.inTrouble(nil, toDisk, saved) {
			saved(nil)
		}
	}
	asked := d.asked
	d.asked = nil
	for _, e := range asked {
		ends := func(err error) { d.node.LedgerEnd(e.group, e.end, e.heard, err) }
		if !d.inTrouble(e.group, toLedger, ends) {
			ends(nil)
		}
	}
}

// endLeases ends the leases that have run out.
func (d *crowdedNode) endLeases() {
	for number, until := range d.shared {
		if d.now >= until {
			delete(d.shared, number)
			d.node.SharedLeaseOver(number)
		}
	}
	if d.electorate.Rules.Lease == 0 {
		return
	}
	for _, e := range d.engines {
		if e.until != 0 && e.shares == 0 && d.now >= e.until {
			e.until = 0
			d.node.LeaseOver(e.group, e.leased)
		}
	}
}

func (d *crowdedNode) Draw(_ *Group, a Alarm) time.Duration {
	return a.Min + time.Duration(d.random.Int64N(int64(a.Max-a.Min)+1))
}

func (d *crowdedNode) AskStalled(time.Duration) bool {
	stalled := func(err error) {
		var named []*Group
		if err != nil {
			named = d.groups
		}
		d.node.Stalled(named)
	}
	if d.judges && !d.inTrouble(nil, toJudge, stalled) {
		d.later(step, func() { stalled(nil) })
	}
	return d.judges
}

func (d *crowdedNode) HoldShared(number uint32, until time.Duration) {
	if d.shared[number] = until; until == 0 {
		delete(d.shared, number)
	}
}

func (d *crowdedNode) Send(to string, batch []rpc.Message)         { d.links[to].put(batch) }
func (d *crowdedNode) SendBeat(to string, b *rpc.Beat)             { d.links[to].putBeat(b.Clone()) }
func (d *crowdedNode) Save(batch []memberstate.Record)             { d.saving = batch }
func (d *crowdedNode) Groups() []*Group                            { return d.groups }
func (d *crowdedNode) Group(name string) *Group                    { return d.named[name] }
func (d *crowdedNode) Progress(Progress)                           {}
func (d *crowdedNode) Drop(Drop, int)                              {}
func (d *crowdedNode) Rests(*Group, uint32)                        {}
func (d *crowdedNode) CohortHeard(uint32, time.Duration)           {}
func (d *crowdedNode) QuorumHeard(*Group, time.Duration)           {}
func (d *crowdedNode) NotTransferred(*Group, *TransferError, bool) {}

// crowdedEngine is the engine of a group.
type crowdedEngine struct {
	counting
	at          *crowdedNode
	group       *Group
	name        string
	leads       bool
	view        View
	end         memberstate.Position // of its ledger
	heard       memberstate.Term     // the largest term of an append
	refuses     memberstate.Term     // appends of lower terms, because it was asked for its end with this one
	behind      bool                 // appends do not reach it
	term        memberstate.Term     // of its Lead
	serves      bool                 // Lead has been called, and its context has not ended
	until       time.Duration        // of its own lease; 0: it has none
	leased      memberstate.Term     // of that
	shares      uint32               // the lease of this number; 0: none
	pausing     bool                 // its writes are to be paused, or are
	paused      bool
	calledPause time.Duration // when, if the newest call has not been answered
	over        bool          // the group has ended
}

func (e *crowdedEngine) Show(v View) {
	e.view = v
	if leads := v.Role == memberstate.Leader; leads != e.leads {
		e.leads = leads
		if leads {
			e.at.led++
		} else {
			e.at.led--
		}
	}
}

// holds says whether it may serve without asking others.
func (e *crowdedEngine) holds() bool {
	return e.serves && e.at.now < max(e.until, e.at.shared[e.shares])
}

func (e *crowdedEngine) Lead(term memberstate.Term) { e.term, e.serves = term, true }

func (e *crowdedEngine) EndLead(term memberstate.Term) {
	e.serves = false
	returned := func(error) { e.at.node.LeadReturned(e.group, term, false, nil) }
	if !e.at.inTrouble(e.group, toLead, returned) {
		returned(nil)
	}
}

func (e *crowdedEngine) Pause(_ memberstate.Term, number uint32) {
	e.pausing, e.calledPause = true, e.at.now
	ended := func(err error) {
		if e.group.pausedLast(number) {
			e.paused, e.calledPause = e.pausing && err == nil, 0
		}
		e.at.node.PauseEnded(e.group, number, err)
	}
	if !e.at.inTrouble(e.group, toPause, ended) {
		e.at.later(step, func() { ended(nil) })
	}
}

func (e *crowdedEngine) AskLedger(term memberstate.Term) {
	e.refuses = max(e.refuses, term)
	e.at.asked = append(e.at.asked, e)
}

// append has a leader write one entry, which others accept.
func (e *crowdedEngine) append() {
	if !e.serves || e.pausing || e.term < e.refuses {
		return
	}
	e.end = memberstate.Position{Term: e.term, Index: e.end.Index + 1}
	e.replicate()
}

// replicate has all accept what a leader has written, as far as they may.
func (e *crowdedEngine) replicate() {
	for _, d := range e.at.nodes {
		f := d.engineOf(e.name)
		if f != e && !f.behind && d.runs() && e.term >= f.refuses && f.view.Hears(e.term, e.group.Rules.Self) == HeardLeader {
			f.end, f.heard = e.end, e.term
		}
	}
}

func (e *crowdedEngine) Hold(until time.Duration) {
	if e.until == 0 && until != 0 {
		e.leased = e.group.State().Term
	}
	e.until, e.shares = until, 0
}

func (e *crowdedEngine) Share(number uint32) { e.shares = number }
func (e *crowdedEngine) Resume()             { e.pausing, e.paused = false, false }
func (e *crowdedEngine) Ended(error)         { e.over = true }

// crowdedLink carries messages to a node, and beats before them.
type crowdedLink struct {
	to      *crowdedNode
	waiting []rpc.Message
	beats   []*rpc.Beat
	cut     bool // what is sent is lost
	holds   bool // what is sent is held back
	held    struct {
		messages []rpc.Message
		beats    []*rpc.Beat
	}
}

func (l *crowdedLink) carries() bool { return len(l.waiting)+len(l.beats) > 0 }

func (l *crowdedLink) put(batch []rpc.Message) {
	switch {
	case l.cut, l.to.down, l.to.deaf:
	case l.holds:
		l.held.messages = append(l.held.messages, batch...)
	default:
		l.waiting = append(l.waiting, batch...)
		l.waiting = l.waiting[max(len(l.waiting)-mostWaiting, 0):]
	}
}

func (l *crowdedLink) putBeat(b *rpc.Beat) {
	switch {
	case l.cut, l.to.down, l.to.deaf:
	case l.holds:
		l.held.beats = append(l.held.beats, b)
	default:
		l.beats = append(l.beats, b)
	}
}

// lets takes out what was held back until now, and returns what has it arrive.
func (l *crowdedLink) lets() func() {
	messages, beats := l.held.messages, l.held.beats
	l.held.messages, l.held.beats = nil, nil
	return func() { l.waiting, l.beats = append(l.waiting, messages...), append(l.beats, beats...) }
}

func (l *crowdedLink) carry(most int) {
	for _, b := range l.beats {
		l.to.node.Beat(b)
	}
	arrive := l.waiting[:min(most, len(l.waiting))]
	l.waiting, l.beats = l.waiting[len(arrive):], l.beats[:0]
	for i := range arrive {
		l.to.node.Deliver(l.to.named[arrive[i].Group], &arrive[i])
	}
}

// Each of the six links carries 40 messages in a step, which is enough for 15,000 groups in a second: a group needs 16, for
// a round of pre-votes, one of votes, and two heartbeats.
func TestManyGroupsThatStartAtOnceAreLedAlthoughTheNetworkIsSlow(t *testing.T) {
	const groups, within = 20_000, 5 * time.Second
	timing := DefaultTiming()
	timing.Leak = 10
	c := newCrowded(t, groups, 40, Rules{Timing: timing})
	for began := c.now; c.led < groups; c.pass() {
		if c.now-began > within {
			require.Fail(t, "it takes too long", "%d groups are led", c.led)
		}
	}
}

func (d *crowdedNode) Outdated(error)                      {}
func (d *crowdedNode) OlderProcess(string, uint64, uint64) {}
