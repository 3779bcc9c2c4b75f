// Steps do not wait: a step of a session is taken together with the end of the ledger and the disk
// that it waits for.
//
// The intuition: no other node notices that a step has begun, because nothing is sent and nothing is durable
// before the wait. But events may reach the session during the wait: its lease runs out, Lead
// returns, the engine has paused its writes or could not, an order is withdrawn, or one is given that will be
// the next input. Each of them might as well come just before the step, or just after it. For example, a
// leader hears of a larger term and waits for its disk, and the context of Lead has ended. If Lead returns
// during the wait, the member must end up as if Lead returned when the disk has answered.
//
// This is not assumed, but checked. Whenever a step waits and an event is possible, the step is taken
// again for every choice and order of events at every wait. The result must be that of the same events before
// and after the step; if it is not, that is a violation. So this adds no states, and still finds a session
// that loses an event or acts on it twice.
//
// The cases:
//
//   - Several events come in one wait. The session attends to all of them at once when the step is done; if
//     they come apart, it attends to each by itself. So any order of them will do.
//   - The input was an order, which is withdrawn. A step that waits for the ledger has changed nothing yet,
//     so it must have no effect then.
//   - LedgerEnd hangs, and the office ends (ability.go). That belongs to the step: events come before the office ends
//     or after it, and are compared with events before and after a step that hangs. Two at once are enough, because
//     nothing that was under way before outlives the office.
//   - A step is tried in several states of ability. Events are combined in the first one in which the step waits. In
//     the others they come one by one, because a session does not read its machine's ability.
//   - Time passes during the wait. Other nodes cannot tell when the step began, so it may as well have begun
//     after that time. This does not hold for a step that the session takes by itself after another
//     one, because the first step has been noticed by other nodes: during such a step no time passes here.
//   - The process crashes. The events are lost with it, as if it had crashed before the step.
//
// The variant that looks right and costs too much is a state in which the node waits until the disk answers. It
// is sound, and nothing would have to be compared; but every node could wait in every step that it can begin. There would be
// many times as many nodes (docs/verification.md has figures), and nearly all of them would differ from another one
// in a way that no other node can notice.

package explore

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hustings/hustings/simulation/invariant"
)

// waitEvents are the events that may come while a step of a session waits.
var waitEvents = []inputKind{leaseExpires, leadReturns, pauseDone, pauseFails, latePauseDone, withdrawsTransfer, withdrawsResignation, resigns}

// interleaving chooses the events that come during a step. At every opportunity it makes one choice, and
// each step has the next combination of choices.
type interleaving struct {
	choices []choice
	made    int // in the step under way
	events  []inputKind
	most    int // how many events there are in a step
}

// choice is one of several.
type choice struct{ at, of int }

// choose makes the next choice, from this many.
func (d *interleaving) choose(of int) int {
	if d.made == len(d.choices) {
		d.choices = append(d.choices, choice{of: of})
	}
	d.made++
	return d.choices[d.made-1].at
}

// begin begins with the first combination, in which there are no events.
func (d *interleaving) begin(most int) *interleaving {
	d.choices, d.made, d.events, d.most = d.choices[:0], 0, d.events[:0], most
	return d
}

const (
	// anyEvents is more than there can be in a step.
	anyEvents = 16
	// fewEvents are tried together if LedgerEnd hangs, and oneEvent in further states of ability.
	fewEvents = 2
	oneEvent  = 1
)

// next begins the next combination of choices; false if there is none.
func (d *interleaving) next() bool {
	d.choices, d.made, d.events = d.choices[:d.made], 0, d.events[:0]
	for n := len(d.choices); n > 0; n-- {
		if c := &d.choices[n-1]; c.at+1 < c.of {
			c.at++
			d.choices = d.choices[:n]
			return true
		}
	}
	return false
}

// hasEvent says whether this step has had the event, or the one that undoes it: an order that is given and
// withdrawn in one wait, in either order, has no effect.
func (d *interleaving) hasEvent(what inputKind) bool {
	switch what {
	case withdrawsResignation, resigns:
		return slices.Contains(d.events, withdrawsResignation) || slices.Contains(d.events, resigns)
	default:
		return slices.Contains(d.events, what)
	}
}

// interleave chooses events while a step of the session waits.
func (w *execution) interleave() {
	for d := w.interleaving; d != nil && len(d.events) < d.most; {
		var room [16]inputKind
		can := room[:0]
		for _, what := range waitEvents {
			if w.canRaise(what) && !d.hasEvent(what) {
				can = append(can, what)
			}
		}
		if len(can) == 0 {
			return
		}
		k := d.choose(len(can) + 1)
		if k == 0 {
			return
		}
		d.events = append(d.events, can[k-1])
		w.raise(can[k-1])
	}
}

// effect is the effect of something that happens to a node, without what the explorer does not tell apart.
type effect struct {
	node        node
	sent        []message
	ended       bool
	outOfBounds bool
	defect      defect
}

// covers says whether everything that can follow another effect can follow this one.
func (r *effect) covers(other *effect) bool {
	return r.node == other.node && r.ended == other.ended &&
		!slices.ContainsFunc(other.sent, func(msg message) bool { return !slices.Contains(r.sent, msg) }) &&
		!slices.ContainsFunc(r.sent, func(msg message) bool { return msg.won && !slices.Contains(other.sent, msg) })
}

// checkInterleavings repeats something that happens to a node with all combinations of events during its waits, and
// returns what is wrong. The first combination, without events, has been tried.
func (m *model) checkInterleavings(d *interleaving, n *node, back renaming, apply func(*execution)) defect {
	for d.next() {
		w := m.newExecution(n, back)
		w.interleaving = d
		apply(w)
		r := w.effect()
		switch {
		case !r.defect.none():
			return r.defect
		case len(d.events) == 0 || r.outOfBounds || m.sameSequentially(n, back, apply, d.events, w.withdrawn && !w.hung, &r):
			continue
		}
		return defect{invariant.LegalStep, fmt.Sprintf("during a wait of its step: %s; the effect differs from that of the same event before or after the step", m.describeAll(d.events))}
	}
	return defect{}
}

// sameSequentially says whether the result is the same if all events come before or after the step.
func (m *model) sameSequentially(n *node, back renaming, apply func(*execution), events []inputKind, withdrawn bool, want *effect) bool {
	for all := range orders(events) {
		for before := range len(all) + 1 {
			w := m.newExecution(n, back)
			for _, what := range all[:before] {
				w.apply(m.given(input{kind: what}, m.renamings[0]))
			}
			if !withdrawn {
				apply(w)
			}
			for _, what := range all[before:] {
				w.apply(m.given(input{kind: what}, m.renamings[0]))
			}
			if r := w.effect(); r.defect.none() && !r.outOfBounds && r.covers(want) {
				return true
			}
		}
	}
	return false
}

// describeAll is a list of events in words.
func (m *model) describeAll(events []inputKind) string {
	var all []string
	for _, what := range events {
		all = append(all, m.describe(input{kind: what}, m.renamings[0]))
	}
	return strings.Join(all, ", then ")
}

// orders are all permutations. Each is only good until the next one.
func orders(of []inputKind) iter.Seq[[]inputKind] {
	all := slices.Clone(of)
	var place func(at int, yield func([]inputKind) bool) bool
	place = func(at int, yield func([]inputKind) bool) bool {
		if at == len(all) {
			return yield(all)
		}
		for i := at; i < len(all); i++ {
			all[at], all[i] = all[i], all[at]
			if !place(at+1, yield) {
				return false
			}
			all[at], all[i] = all[i], all[at]
		}
		return true
	}
	return func(yield func([]inputKind) bool) { place(0, yield) }
}
