// Trouble twice within one operation: it comes, goes, and comes again, and what it has kept back of its first time arrives
// during the second. Whatever the operation is and whatever troubles it, it ends as its documentation says, and nothing is
// left of either. What must hold at each moment is in struck_test.go.

package protocol

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

var (
	usual     = DefaultTiming()
	heartbeat = usual.Heartbeat
	detection = usual.Detection()
)

// handsOver is how long a handover takes at most, as long as the member leads: each of three phases has a detection time, which
// is counted in heartbeats. And elects is how long it takes until there is another leader if it has resigned in vain, and quiets
// until all followers are bonded and all is told.
var (
	handsOver = 3*detection + 2*heartbeat
	elects    = 3 * (detection + usual.MaxVoteWait)
	quiets    = 30 * heartbeat
)

// operation is something that a node with voting groups does.
type operation struct {
	name   string
	groups int
	begin  func(s *struck)
	over   func(s *struck) bool // nil: it is when its order is settled
	may    []error              // with which it may end
	within time.Duration        // how long it takes at most, counted from when all is well
	well   time.Duration        // how long it takes if all is well
}

var operations = []*operation{
	{
		name: "a handover to a target", groups: 1, within: handsOver + elects, well: 12 * step,
		may:   []error{ErrTransferFailed, ErrTransferInProgress, ErrNotLeader},
		begin: func(s *struck) { s.obeys(&Order{To: s.heir.id}) },
	},
	{
		name: "a handover to anyone", groups: 1, within: handsOver + elects, well: 12 * step,
		may:   []error{ErrTransferFailed, ErrTransferInProgress, ErrNotLeader},
		begin: func(s *struck) { s.obeys(&Order{}) },
	},
	{
		name: "a handover that is withdrawn if it takes long", groups: 1, within: elects, well: 12 * step,
		may: []error{ErrTransferFailed, ErrTransferInProgress, ErrNotLeader, assert.AnError},
		begin: func(s *struck) {
			o, node := &Order{To: s.heir.id}, s.node
			s.obeys(o)
			node.later(detection/2, func() {
				node.node.Withdraw(node.named["g0"], o, assert.AnError)
				assert.True(s, o != s.order || s.ended, "%v: who has withdrawn an order does not wait", s)
			})
		},
	},
	{
		name: "a resignation", groups: 1, within: handsOver + elects, well: 12 * step,
		may:   []error{ErrNotLeader},
		begin: func(s *struck) { s.obeys(&Order{Resign: true}) },
	},
	{name: "a drain", groups: 1, within: 16 * detection, well: heartbeat + 12*step, begin: drains, over: drained},
	{name: "a drain of several groups", groups: 3, within: 16 * detection, well: heartbeat + 24*step, begin: drains, over: drained},
	{name: "a drain beside another one", groups: 1, within: 16 * detection, well: heartbeat + 24*step, begin: drainsBoth, over: drained},
	{name: "a drain that is ended if it takes long", groups: 3, within: detection, well: heartbeat + 30*step, begin: drainsBriefly, over: drained},
	{name: "a member that joins", groups: 1, within: 4 * detection, well: 2 * detection, begin: joins, over: hasJoined},
	{name: "a lease", groups: 1, within: elects, well: 3 * detection, begin: func(*struck) {}, over: func(s *struck) bool {
		return s.now >= s.began+2*detection && s.leader("g0") != nil && s.leader("g0").holds()
	}},
	{
		name: "an append of the next leader", groups: 1, within: handsOver + elects, well: 16 * step,
		may:   []error{ErrStaleTerm, ErrOtherLeader},
		begin: hears, over: hasHeard,
	},
}

// obeys gives an order to the node.
func (s *struck) obeys(o *Order) {
	node, g := s.node, s.node.named["g0"]
	o.Settled = func(err error) {
		leads := g.Role == memberstate.Leader && g.Term == o.term
		switch {
		case err != nil:
		case o.Resign:
			assert.False(s, leads, "%v: it has resigned", s)
		default:
			assert.True(s, !leads && (o.To == "" || g.Members.ID(g.Leader) == o.To), "%v: it has handed over to %s", s, o.To)
		}
		s.ends(err)
	}
	s.order = o
	node.later(0, func() { node.node.Obey(g, o) })
}

func drains(s *struck) {
	node := s.node
	node.later(0, func() { node.node.Drain(2) })
}

// drainsBoth drains two nodes, so that the third one has to take over.
func drainsBoth(s *struck) {
	s.third().later(0, func() { s.third().node.Drain(2) })
	s.after(8*step, func() { drains(s) })
}

// drainsBriefly drains a node, one group after the other, and has it serve again soon. Handovers under way go on.
func drainsBriefly(s *struck) {
	node, began := s.node, s.began
	node.later(0, func() { node.node.Drain(1) })
	node.later(detection/2, func() {
		if s.began == began && !s.ended {
			node.node.Serve()
			s.ends(nil)
		}
	})
}

// drained has all nodes serve again, once the node is drained.
func drained(s *struck) bool {
	d := s.node
	if d.node.Standing().State != rpc.Drained {
		return false
	}
	d.node.Serve()
	s.third().node.Serve()
	return true
}

// joins has a member leave its group, and join it again as soon as it is over.
func joins(s *struck) {
	heir := s.heir
	e := heir.engineOf("g0")
	s.left = e.group
	var again func()
	again = func() {
		if !e.over {
			heir.later(step, again)
			return
		}
		heir.restore(0, e)
		heir.node.Start(e.group)
	}
	heir.later(0, func() {
		heir.node.End(e.group)
		again()
	})
}

// hasJoined says whether it follows the leader again, bonded if it may be.
func hasJoined(s *struck) bool {
	e := s.leader("g0")
	return e != nil && s.isSettled(e) && s.heir.named["g0"] != s.left
}

// hears has a member hear the first append of a leader that it does not know, because nothing reaches it during the handover.
func hears(s *struck) {
	heir := s.heir
	s.obeys(&Order{To: s.third().id})
	heir.deaf, s.starts = true, heir.starts
	s.order.Settled = func(error) { heir.later(0, func() { s.appends(heir) }) }
}

// hasHeard says whether an append has been judged, or whoever was to judge it has died.
func hasHeard(s *struck) bool {
	if s.heir.starts != s.starts {
		s.heir.deaf = false
		return true
	}
	return s.ended
}

// appends has an append of the leader arrive at a member, as soon as there is one.
func (s *struck) appends(at *crowdedNode) {
	from, to := s.leader("g0"), at.engineOf("g0")
	if from == nil {
		at.later(step, func() { s.appends(at) })
		return
	}
	if at.deaf = false; from == to {
		s.ends(nil)
		return
	}
	term, leader := from.term, from.at.id
	news, err := to.group.Hears(&to.view, term, leader, false)
	if err != nil || !news {
		s.demand(!s.well, "the append of a leader that it does not know is news")
		s.ends(err)
		return
	}
	at.node.Give(to.group, &Input{Kind: Heard, Term: term, Seat: from.group.Rules.Self}, func() {
		news, err := to.group.Hears(&to.view, term, leader, true)
		assert.False(s, news, "%v: it has been judged", s)
		s.ends(err)
	})
}

// trouble is what happens to an operation.
type trouble struct {
	name    string
	strikes func(s *struck, comes bool) // what happens when it comes or goes
	calls   call                        // that are struck meanwhile, ...
	of      func(s *struck) *crowdedNode
	fails   bool // ... and fail; otherwise they are answered late
	stands  bool // ... while the process stands still
}

func theNode(s *struck) *crowdedNode { return s.node }
func theHeir(s *struck) *crowdedNode { return s.heir }

var troubles = []*trouble{
	{name: "the target is silent", strikes: cuts(theHeir)},
	{name: "what the target says is late", strikes: holdsBack},
	{name: "the target is behind", strikes: fallsBehind},
	{name: "all peers are absent", strikes: cuts(theNode)},
	{name: "the process of the target restarts", strikes: restarts},
	{name: "the process stands still", strikes: func(s *struck, comes bool) {
		if comes {
			s.node.stands = s.now + s.lasts()
		}
	}},
	{name: "the process stands still while it is judged", calls: toJudge, of: func(s *struck) *crowdedNode { return s.first }, stands: true},
	{name: "its pause fails", calls: toPause, of: theNode, fails: true},
	{name: "its pause hangs", calls: toPause, of: theNode},
	{name: "its ledger hangs", calls: toLedger, of: theNode},
	{name: "its Lead does not return", calls: toLead, of: theNode},
	{name: "its disk hangs", calls: toDisk, of: theNode},
	{name: "the disk of the target hangs", calls: toDisk, of: theHeir},
	{name: "its judge hangs", calls: toJudge, of: theNode},
	{name: "its engines do not work", calls: toJudge, of: theNode, fails: true},
	{name: "the target's judge hangs", calls: toJudge, of: theHeir},
	{name: "the target's engines do not work", calls: toJudge, of: theHeir, fails: true},
}

// cuts cuts a node off.
func cuts(of func(s *struck) *crowdedNode) func(s *struck, comes bool) {
	return func(s *struck, comes bool) {
		s.eachLink(func(from *crowdedNode, l *crowdedLink) { l.cut = comes && (from == of(s) || l.to == of(s)) })
	}
}

// holdsBack keeps what the target says.
func holdsBack(s *struck, comes bool) {
	s.eachLink(func(from *crowdedNode, l *crowdedLink) {
		if l.holds = comes && from == s.heir; !comes {
			s.keep(l.lets())
		}
	})
}

// fallsBehind has no append reach the target.
func fallsBehind(s *struck, comes bool) {
	for _, d := range s.nodes {
		for _, e := range d.engines {
			e.behind = comes && d == s.heir
		}
	}
	for _, e := range s.leaders() {
		e.append()
	}
}

// restarts ends the process of the target, and starts another one.
func restarts(s *struck, comes bool) {
	if comes {
		s.heir.dies()
		return
	}
	for _, d := range s.nodes {
		if d.down {
			d.start()
		}
	}
}

// impossible is why a trouble cannot strike an operation; empty if it can.
func impossible(o *operation, by *trouble) string {
	called := by.calls != "" && by.calls != toJudge
	switch {
	case o.name == "a lease" && called:
		return "a heartbeat that is answered changes nothing that is saved, and asks the engine for nothing"
	case o.name == "a member that joins" && called:
		return "a member that joins in the term and with the promise of before saves nothing, and its leader goes on leading"
	case o.name == "an append of the next leader" && strings.HasPrefix(by.name, "the target's"):
		return "a node that nothing reaches asks nobody whether its engines work"
	}
	return ""
}

// shape is when a trouble is there.
type shape struct {
	begins, lasts, pauses, lastsAgain time.Duration
	overlaps                          bool // what its first time has kept back comes during the second
}

// asNext is a pause that ends when the next handover begins, or is under way.
const asNext time.Duration = -1

// shapes strike the operation in each of its phases, and last for less than a detection time, or for more.
var shapes = []shape{
	{0, detection / 2, 2 * step, detection / 2, false},
	{0, detection / 2, 2 * step, detection * 3 / 2, true},
	{0, detection / 2, heartbeat + 2*step, detection / 2, true},
	{step, detection * 4 / 3, 3 * step, detection * 4 / 3, true},
	{2 * step, detection * 4 / 3, heartbeat + step, detection * 4 / 3, false},
	{3 * step, detection * 3 / 4, 4 * step, detection * 3 / 4, true},
	{4 * step, detection * 4 / 3, detection, detection * 4 / 3, true},
	{0, detection * 3 / 2, asNext, detection * 3 / 2, true},
}

// suffers has the operation begin, again if it has ended before the trouble has struck twice.
func (s *struck) suffers() {
	s.begins()
	s.first = s.node
	s.comes()
	past := func() bool { return s.times == 2 && !s.there }
	for !past() {
		again := func() bool { return s.isOver() && s.hits[1] == 0 && s.leader("g0") != nil }
		if s.until(time.Second, func() bool { return past() || again() }) && !past() {
			s.begins()
		}
	}
	within := s.operation.within
	require.True(s, s.until(within, s.isOver), "%v: it ends within %v", s, within)
}

// recovers demands that all is as it was.
func (s *struck) recovers() {
	able := func() bool {
		for _, d := range s.nodes {
			for _, e := range d.engines {
				if e.view.Inability != Able {
					return false
				}
			}
		}
		return true
	}
	s.until(detection, func() bool { return false }) // a lease may run out by then that was not renewed during the trouble
	holds := (1+2)*detection + 4*heartbeat
	assert.True(s, s.until(holds, able), "%v: all are able within %v", s, holds)
	s.gathers()
	terms := func() (all []memberstate.Term) {
		for _, e := range s.leaders() {
			all = append(all, e.term)
		}
		return all
	}
	before := terms()
	s.until(3*detection, func() bool { return false })
	assert.Equal(s, before, terms(), "%v: they lead for good", s)
	s.well = true
	s.begins()
	within := s.operation.well
	assert.True(s, s.until(within, s.isOver), "%v: another one takes %v", s, within)
	assert.NoError(s, s.err, "%v: another one", s)
	assert.True(s, s.until(quiets, func() bool { return s.holdings() == [3]Holdings{} }), "%v: it holds %+v", s, s.holdings())
}

func TestTroubleThatComesTwiceWithinOneOperationLeavesNothing(t *testing.T) {
	for _, o := range operations {
		for _, by := range troubles {
			t.Run(fmt.Sprintf("%s, and %s", o.name, by.name), func(t *testing.T) {
				t.Parallel()
				reason := impossible(o, by)
				var hits [2]int
				for _, how := range shapes {
					s := newStruck(t, o, by, how)
					s.gathers()
					s.suffers()
					s.recovers()
					hits[0] += s.hits[0]
					hits[1] += s.hits[1]
				}
				assert.Equal(t, reason == "", hits[0] > 0 && hits[1] > 0, "it strikes twice: %v. %s", hits, reason)
			})
		}
	}
}
