// Properties: whatever is done to a group, in whatever order, the invariants
// hold after every step; no committed entry is lost; no two members hold a lease
// at one time; and once all is healed, one leads and all follow.

package protocol

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hustings/hustings/memberstate"
)

func TestWhateverIsDoneToAGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.startAll()
		t.Repeat(map[string]func(*rapid.T){
			"run":       func(t *rapid.T) { w.run(time.Duration(rapid.IntRange(1, 500).Draw(t, "ms")) * time.Millisecond) },
			"crash":     func(t *rapid.T) { w.pick(t).crash() },
			"start":     func(t *rapid.T) { w.startIfDown(w.pick(t)) },
			"isolate":   func(t *rapid.T) { w.cutOff(w.pick(t), true) },
			"rejoin":    func(t *rapid.T) { w.cutOff(w.pick(t), false) },
			"cut":       func(t *rapid.T) { w.link(w.pick(t), w.pick(t)).cut = true },
			"heal":      func(t *rapid.T) { w.link(w.pick(t), w.pick(t)).cut = false },
			"hold":      func(t *rapid.T) { w.link(w.pick(t), w.pick(t)).hold = true },
			"release":   func(t *rapid.T) { w.release(w.pick(t), w.pick(t)) },
			"slow disk": func(t *rapid.T) { w.saving = time.Duration(rapid.IntRange(0, 50).Draw(t, "ms")) * time.Millisecond },
			"write":     func(t *rapid.T) { w.write(w.pick(t)) },
			"replicate": func(t *rapid.T) { w.replicate(w.pick(t), w.pick(t)) },
			"transfer":  func(t *rapid.T) { w.pick(t).give(Input{Kind: Transfer, Seat: w.pick(t).rules.Self}) },
			"resign":    func(t *rapid.T) { w.pick(t).give(Input{Kind: Resign}) },
			"stand":     func(t *rapid.T) { w.pick(t).give(Input{Kind: Stand}) },
			"lost":      func(t *rapid.T) { w.pick(t).give(Input{Kind: PeerLost, Seat: w.pick(t).rules.Self}) },
			"old alarm": func(t *rapid.T) { a := w.pick(t); a.give(Input{Kind: Ring, Number: a.machine.alarm - 1}) },
			"":          func(*rapid.T) { w.check() },
		})
		w.healed()
	})
}

// world is a stage with ledgers that are written and replicated.
type world struct {
	*stage
	t         *rapid.T
	ledgers   map[*actor][]memberstate.Term
	committed []memberstate.Term
	steady    bool // nothing but a fault changes the leader
}

func newWorld(t *rapid.T) *world {
	size := rapid.IntRange(1, 7).Draw(t, "members")
	members := memberstate.Voters("n0", "n1", "n2", "n3", "n4", "n5", "n6")[:size]
	if rapid.Bool().Draw(t, "observer") {
		members = append(members, memberstate.Member{ID: "watcher", Observer: true})
	}
	o := stageOptions{
		members: members, seed: rapid.Uint64().Draw(t, "seed"), leases: rapid.Bool().Draw(t, "leases"),
		noPreVote: rapid.Bool().Draw(t, "no pre-vote"), noRanks: rapid.Bool().Draw(t, "no ranks"),
	}
	if rapid.Bool().Draw(t, "preferred") {
		o.preferred = []string{"n0"}
	}
	return &world{stage: newStage(t, o), t: t, ledgers: map[*actor][]memberstate.Term{}, steady: o.preferred == nil}
}

func (w *world) pick(t *rapid.T) *actor { return rapid.SampledFrom(w.actors).Draw(t, "member") }

func (w *world) startIfDown(a *actor) {
	if !a.alive {
		a.start()
	}
}

// set gives a member a ledger, and the elector its end.
func (w *world) set(a *actor, ledger []memberstate.Term) {
	w.ledgers[a] = ledger
	a.ledger = memberstate.Position{Term: ledger[len(ledger)-1], Index: uint64(len(ledger))}
}

// mayAppend says whether an engine may still acknowledge an append of its
// member's term: it is asked again after Heard, for it may have promised since.
func (a *actor) mayAppend(term memberstate.Term) bool {
	return a.alive && a.step == nil && a.machine.Term == term && a.promised <= term
}

// write has a leader append an entry of its term.
func (w *world) write(a *actor) {
	if a.machine.Role == memberstate.Leader && a.mayAppend(a.machine.Term) {
		w.set(a, append(slices.Clone(w.ledgers[a]), a.machine.Term))
		w.count(a, a.machine.Term)
	}
}

// replicate has a leader send its ledger to another member.
func (w *world) replicate(leader, to *actor) {
	term, ledger := leader.machine.Term, w.ledgers[leader]
	if leader == to || leader.machine.Role != memberstate.Leader || !leader.mayAppend(term) || len(ledger) == 0 {
		return
	}
	deliver := func() { w.append(leader, to, term, ledger) }
	switch l := w.link(leader, to); {
	case l.cut:
	case l.hold:
		l.held = append(l.held, deliver)
	default:
		w.at(w.delay, deliver)
	}
}

// append is what a follower does with it: Heard first, then the ledger.
func (w *world) append(leader, to *actor, term memberstate.Term, ledger []memberstate.Term) {
	to.give(Input{Kind: Heard, Seat: leader.rules.Self, Term: term})
	if !to.mayAppend(term) || to.machine.Leader != leader.rules.Self {
		return
	}
	if mine := w.ledgers[to]; len(mine) < len(ledger) || !slices.Equal(mine[:len(ledger)], ledger) {
		w.set(to, ledger)
	}
	if leader.mayAppend(term) && leader.machine.Role == memberstate.Leader {
		w.count(leader, term)
	}
}

// count commits what a quorum has of a leader's ledger, up to an entry of its term.
func (w *world) count(leader *actor, term memberstate.Term) {
	ledger := w.ledgers[leader]
	for n := len(ledger); n > len(w.committed) && ledger[n-1] == term; n-- {
		var have memberstate.Set
		for _, a := range w.actors {
			if mine := w.ledgers[a]; len(mine) >= n && slices.Equal(mine[:n], ledger[:n]) {
				have = have.With(a.rules.Self)
			}
		}
		if (have & leader.rules.Voters).Len() >= memberstate.Quorum(leader.rules.Voters) {
			w.committed = ledger[:n]
			return
		}
	}
}

// check looks at the group between two actions.
func (w *world) check() {
	if leader := w.leader(); leader != nil {
		mine := w.ledgers[leader]
		if len(mine) < len(w.committed) || !slices.Equal(mine[:len(w.committed)], w.committed) {
			w.t.Fatalf("%s leads without the committed %v, it has %v\n%s", leader.id, w.committed, mine, w)
		}
	}
	holders := 0
	for _, a := range w.actors {
		if _, held := a.lease(); held {
			holders++
		}
	}
	if holders > 1 {
		w.t.Fatalf("%d members hold a lease\n%s", holders, w)
	}
}

// healed mends everything and expects a leader, for good.
func (w *world) healed() {
	w.saving = 0
	for _, a := range w.actors {
		for _, b := range w.actors {
			w.link(a, b).cut = false
			w.release(a, b)
		}
	}
	for _, a := range w.actors {
		w.startIfDown(a)
	}
	detection := w.actors[0].rules.Timing.Detection()
	w.run(5 * detection) // what was held may still stir things up
	w.runUntil(20*detection, "one leads and all follow", w.settled)
	leader := w.leader()
	w.run(10 * detection)
	w.check()
	if w.steady && w.leader() != leader {
		w.t.Fatalf("%s does not lead any more, and nothing happened\n%s", leader.id, w)
	}
}
