// Three nodes with an operation that is troubled twice, and what must hold at each moment meanwhile.

package protocol

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// struck is three nodes with an operation that is troubled twice.
type struck struct {
	*crowded
	operation *operation
	trouble   *trouble
	shape     shape

	first, node *crowdedNode // that carries the operation out, at first and now: it led when it began
	heir        *crowdedNode // the target of a handover, or who joins
	order       *Order
	left        *Group // that it has left to join again
	starts      uint64 // of the heir's process
	began       time.Duration
	ended       bool
	err         error
	well        bool // all is, and was for long

	times int         // how often the trouble has come
	there bool        // it is
	hits  [2]int      // what it has struck
	kept  [2][]func() // what it has kept back

	seen   map[*Group]*seen
	struck map[answering]time.Duration // when such a call was struck last
}

// answering is who is to answer a call: the engine of a group, or the disk or the judge of a node.
type answering struct {
	at *crowdedNode
	g  *Group // nil: of the node
	to call
}

// hanging is which call hangs if a member is not able.
var hanging = map[Inability]call{NotAbleDisk: toDisk, NotAblePause: toPause, NotAbleLead: toLead}

// seen is what was seen of a group at a node.
type seen struct {
	inability Inability
	since     time.Duration
	spells    int           // in which it was not able
	unled     time.Duration // when it knew no leader last
	taking    bool
	move      move
	tries     int             // regular ones
	early     bool            // the last one was early
	gone      memberstate.Set // who could not take over at some moment since then
	hopes     time.Duration   // since when one of them can
}

func (s *struck) String() string {
	return fmt.Sprintf("%+v", s.shape)
}

func newStruck(t *testing.T, o *operation, by *trouble, how shape) *struck {
	t.Helper()
	s := &struck{operation: o, trouble: by, shape: how, seen: make(map[*Group]*seen), struck: make(map[answering]time.Duration)}
	s.crowded = newCrowded(t, o.groups, mostWaiting, Rules{Timing: usual, Lease: detection})
	s.judges, s.meets = true, s.meet
	return s
}

func (s *struck) eachLink(do func(from *crowdedNode, l *crowdedLink)) {
	for _, from := range s.nodes {
		for _, to := range s.nodes {
			if l := from.links[to.id]; l != nil {
				do(from, l)
			}
		}
	}
}

// leader is the engine of the leader of a group in its largest term; nil: nobody leads.
func (s *struck) leader(group string) (leads *crowdedEngine) {
	for _, d := range s.nodes {
		e := d.engineOf(group)
		if !d.down && e.serves && e.leads && (leads == nil || e.term > leads.term) {
			leads = e
		}
	}
	return leads
}

func (s *struck) leaders() (all []*crowdedEngine) {
	for _, e := range s.nodes[0].engines {
		if l := s.leader(e.name); l != nil {
			all = append(all, l)
		}
	}
	return all
}

// third is neither the node nor the heir.
func (s *struck) third() *crowdedNode {
	return s.nodes[slices.IndexFunc(s.nodes, func(d *crowdedNode) bool { return d != s.node && d != s.heir })]
}

// lasts is for how long the trouble that is there, or was last, lasts.
func (s *struck) lasts() time.Duration {
	if s.times == 2 {
		return s.shape.lastsAgain
	}
	return s.shape.lasts
}

// keep keeps something back.
func (s *struck) keep(what func()) { s.kept[s.times-1] = append(s.kept[s.times-1], what) }

// release has happen what has been kept back.
func (s *struck) release(ofTime int) {
	kept := s.kept[ofTime]
	s.kept[ofTime] = nil
	for _, what := range kept {
		what()
	}
}

// meet strikes calls.
func (s *struck) meet(d *crowdedNode, g *Group, what call, answer func(error)) bool {
	by := s.trouble
	if !s.there || by.calls != what || d != by.of(s) || by.stands && s.hits[s.times-1] > 0 {
		return false
	}
	s.hits[s.times-1]++
	s.struck[answering{d, g, what}] = s.now
	switch {
	case by.fails:
		d.later(step, func() { answer(assert.AnError) })
	case by.stands:
		d.stands = s.now + s.lasts()
		d.later(s.lasts()+step, func() { answer(nil) })
	default:
		s.keep(func() { d.later(0, func() { answer(nil) }) })
	}
	return true
}

// comes has the trouble come and go twice.
func (s *struck) comes() {
	how := s.shape
	s.after(how.begins, func() { s.strikes(true) })
	s.after(how.begins+how.lasts, func() {
		s.strikes(false)
		if !how.overlaps {
			s.release(0)
		}
		s.comesAgain(s.now + max(how.pauses, 0))
	})
}

// comesAgain has the trouble come the second time, at a time; or as soon as a handover begins, if there is one soon.
func (s *struck) comesAgain(at time.Duration) {
	how := s.shape
	g := s.node.named["g0"]
	if s.now < at || how.pauses == asNext && s.now < at+2*heartbeat && (g.desk == nil || g.Handover().Phase == NoHandover) {
		s.after(step, func() { s.comesAgain(at) })
		return
	}
	s.strikes(true)
	s.after(how.lastsAgain/2, func() { s.release(0) })
	s.after(how.lastsAgain, func() {
		s.strikes(false)
		s.release(1)
	})
}

// strikes has the trouble be there, or not any more.
func (s *struck) strikes(is bool) {
	if s.there = is; is {
		s.times++
	}
	if s.trouble.strikes != nil {
		s.trouble.strikes(s, is)
		s.hits[s.times-1]++
	}
}

// begins begins the operation, at whoever leads.
func (s *struck) begins() {
	leader := s.leader("g0")
	require.NotNil(s, leader, "%v: somebody leads", s)
	s.node = leader.at
	for i, d := range s.nodes {
		if d == s.node {
			s.heir = s.nodes[(i+1)%3]
		}
	}
	s.began, s.ended, s.err, s.order = s.now, false, nil, nil
	for _, e := range s.leaders() {
		e.append()
	}
	s.operation.begin(s)
}

func (s *struck) ends(err error) { s.ended, s.err = true, err }

// isOver says whether the operation has ended, and then demands that it has ended well or in another way that is allowed.
func (s *struck) isOver() bool {
	if over := s.operation.over; !s.ended && (over == nil || !over(s)) {
		return false
	}
	s.ended = true
	allowed := s.err == nil
	for _, err := range s.operation.may {
		allowed = allowed || errors.Is(s.err, err)
	}
	assert.True(s, allowed, "%v: it ends with %v", s, s.err)
	return true
}

// until has time pass until something holds, for at most so long, and says whether it does.
func (s *struck) until(most time.Duration, holds func() bool) bool {
	for end := s.now + most; ; {
		if holds() {
			return true
		}
		at := (s.next(end) + step - 1) / step * step
		if at >= end {
			s.now = max(s.now, end-step)
			return false
		}
		s.now = max(s.now, at-step)
		s.pass()
		for _, e := range s.leaders() {
			e.replicate()
		}
		s.watch()
	}
}

// demand fails if something does not hold that must hold at each moment.
func (s *struck) demand(holds bool, format string, args ...any) {
	if !holds { // said only then, because it is asked very often
		require.Fail(s, fmt.Sprintf(format, args...), "%v, after %v", s, s.now-time.Hour)
	}
}

// watch demands what must hold at each moment.
func (s *struck) watch() {
	for _, e := range s.nodes[0].engines {
		holders := 0
		for _, d := range s.nodes {
			if !d.down && d.engineOf(e.name).holds() {
				holders++
			}
		}
		s.demand(holders <= 1, "%d may serve %s", holders, e.name)
	}
	for _, d := range s.nodes {
		if !d.runs() {
			continue
		}
		places := 0
		for _, g := range d.groups {
			if x := g.transient(); x != nil && x.place != 0 {
				places++
			}
			s.look(d, g)
		}
		s.demand(places == d.node.muster.open, "%d campaigns keep others waiting, not %d", places, d.node.muster.open)
		s.lookAtDrain(&d.node.draining)
	}
}

// lookAtDrain demands that a drain counts right.
func (s *struck) lookAtDrain(d *drain) {
	moving, young, stuck := 0, 0, [Stucks]int{}
	for _, m := range d.moves {
		if m.order != nil {
			moving++
			continue
		}
		if stuck[m.why]++; m.tries < hopeless {
			young++
		}
	}
	s.demand(moving == d.moving, "%d groups are handed over, not %d", moving, d.moving)
	s.demand(stuck == d.stuck, "%v groups are stuck, not %v", stuck, d.stuck)
	s.demand(young == d.young, "%d groups were not tried often, not %d", young, d.young)
}

// look looks at a group.
func (s *struck) look(d *crowdedNode, g *Group) {
	was := s.seen[g]
	if was == nil {
		was = new(seen)
		s.seen[g] = was
	}
	if g.desk != nil {
		s.lookAtHandover(d, g, was)
	}
	s.lookAtAbility(d, g, was)
	s.lookAtMove(d, g, was)
}

// lookAtHandover demands that the writes are paused while a target may win, and no longer, and that an order ends in time.
func (s *struck) lookAtHandover(d *crowdedNode, g *Group, was *seen) {
	e := g.engine.(*crowdedEngine)
	phase := g.Handover().Phase
	s.demand(phase != NoHandover || !e.pausing || g.Waits(), "the writes of %s go on after its handover", d.id)
	taking := phase == Taking
	if taking && !was.taking {
		s.demand(e.paused || g.Inability().hangs(), "%s hands over before its writes are paused", d.id)
	}
	was.taking = taking
	if x := g.transient(); x != nil && len(x.orders) > 0 && x.busy == nil && x.orders[0] == s.order {
		s.demand(s.now-s.began <= handsOver+s.lasts(), "the order has stood for %v", s.now-s.began)
	}
}

// lookAtAbility demands that what hangs is noticed, and that a member that comes and goes is held back for ever longer.
func (s *struck) lookAtAbility(d *crowdedNode, g *Group, was *seen) {
	e := g.engine.(*crowdedEngine)
	is := e.view.Inability
	if e.view.Leader == memberstate.Nobody {
		was.unled = s.now // nothing may have happened to it since
	}
	if since := e.calledPause; since != 0 && s.now-max(since+detection, d.stands, was.unled) > heartbeat+4*step {
		s.demand(is.hangs(), "the pause of %s has hung for %v, and it is %v", d.id, s.now-since, is)
	}
	if is == was.inability {
		return
	}
	if to := hanging[is]; to != "" {
		by := answering{d, g, to}
		if to == toDisk {
			by.g = nil
		}
		s.demand(s.now-s.struck[by] > detection, "%s is not able because of %v, which has hung for %v", d.id, is, s.now-s.struck[by])
	}
	if was.inability.works() && !is.works() {
		was.spells++
	}
	if was.inability == NotAbleHold && is == Able {
		hold, held := detection<<max(was.spells-1, 0), s.now-was.since
		s.demand(hold-step <= held && held <= hold+2*detection, "%s is held back for %v, not %v", d.id, held, hold)
	}
	s.demand(!s.trouble.stands || is != NotAbleSilent || d != s.first, "a process that has not run is forgiven")
	was.inability, was.since = is, s.now
}

// lookAtMove demands that a group that a drain could not hand over is tried again in time, and not more often.
func (s *struck) lookAtMove(d *crowdedNode, g *Group, was *seen) {
	m, tried := d.node.draining.moves[g]
	if !tried {
		was.move, was.tries, was.gone = move{}, 0, 0
		return
	}
	sticks := m.order == nil && m.next != 0 && m.next != was.move.next
	if begins := m.order != nil && m.order != was.move.order || sticks && was.move.order == nil; begins {
		s.demand(!m.early || !was.early, "one try before its time in each wait")
		if was.early, was.gone = m.early, 0; !m.early {
			was.tries++
		}
	}
	if sticks {
		s.demand(m.next-s.now <= detection<<(was.tries-1), "it waits after %d regular tries", was.tries)
	}
	heirs := g.heirs()
	if m.order != nil || m.next == 0 || m.early || m.why > StuckNotAble || heirs&was.gone == 0 {
		was.hopes = s.now
	}
	s.demand(s.now-was.hopes <= heartbeat+4*step, "it is tried again when somebody is there again")
	was.gone |= g.Rules.others() &^ heirs
	was.move = m
}

// holdings are those of all nodes, and so nothing when all is quiet.
func (s *struck) holdings() (all [3]Holdings) {
	for i, d := range s.nodes {
		all[i] = d.node.Holdings()
	}
	return all
}

// calms waits until all groups are led, and the nodes have nothing else to do.
func (s *struck) calms() {
	isCalm := func() bool {
		for _, e := range s.nodes[0].engines {
			if l := s.leader(e.name); l == nil || !s.isSettled(l) {
				return false
			}
		}
		return s.holdings() == [3]Holdings{}
	}
	require.True(s, s.until(quiets, isCalm), "%v: it is quiet, and holds %+v", s, s.holdings())
}

// gathers has all groups led by one node.
func (s *struck) gathers() {
	s.calms()
	to := s.leader("g0").at
	for _, e := range s.leaders() {
		e.at.node.Obey(e.group, &Order{To: to.id, Settled: func(err error) { require.NoError(s, err, "%v", s) }})
	}
	s.pass()
	s.calms()
}

// isSettled says whether both others follow a leader, which leaves its heartbeats to its node; if it may: a group does not rest as
// long as it is remembered that a member was not able.
func (s *struck) isSettled(leader *crowdedEngine) bool {
	ability := false
	for _, d := range s.nodes {
		e := d.engineOf(leader.name)
		if d.down || e.view.Leader != leader.group.Rules.Self || e.view.Term != leader.term {
			return false
		}
		ability = ability || e.group.ability() != nil
	}
	return ability || leader.group.RestsOn() == leader.group.Rules.others()
}
