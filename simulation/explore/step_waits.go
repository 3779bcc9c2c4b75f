// Steps do not wait: a step of a session is taken together with the end of the ledger and the disk
// that it waits for.
//
// The intuition: nobody notices that a step has begun, because nothing is said and nothing is durable
// before it has waited. But its driver may tell the session something meanwhile: its lease has run out,
// Lead has returned, the engine has paused its writes or could not, an order was withdrawn, or one was given that
// will be its next input. This might as well be told just before the step, or just after. For
// example, a leader hears of a larger term and waits for its disk, and Lead was told to end. If Lead
// returns now, the member must become what it becomes if Lead returns when the disk has answered.
//
// That is not taken for granted. Whenever a step waits and there is something to tell, the step is
// taken again, once for every order in which its driver could tell that, at every wait. What comes of it
// must be what comes of the same things told before the step and after it; if it is not, that is a
// violation. So there are no more states, and a session that loses what it was told, or acts upon
// it twice, is found.
//
// The cases:
//
//   - Several things are told in one wait. The session attends to all of them at once when the step
//     is done, and told apart it attends to each by itself. So any order of them will do.
//   - The input was an order, which is withdrawn. A step that waits for the ledger has changed
//     nothing yet, so it must come to nothing then.
//   - Time passes during the wait. Others cannot tell when the step began, so it is as if it had
//     begun when the time had passed. This does not hold of a step that the session takes by itself
//     after another one, because others have noticed that one: within such a step no time passes here.
//   - The process crashes. What was told is lost with it, as if it had crashed before the step.
//
// The fix that looks right and is wrong is to let the node wait in the state until the disk
// answers. Nothing would have to be compared then; but every node could wait in every step that it can
// begin, and there would be many times as many nodes, nearly all of which differ from another one by
// what nobody can notice.

package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hustings/hustings/simulation/invariant"
)

// beside are the things that a session can be told while one of its steps waits.
var beside = []inputKind{lapses, returns, pauses, fails, lags, callsOff, stays, resigns}

// interleaving is what a driver tells during a step. It makes one choice at every opportunity, and
// goes through all combinations of choices, one a step.
type interleaving struct {
	choices []choice
	made    int // in the step under way
	told    []inputKind
}

// choice is one of several that there are.
type choice struct{ at, of int }

// choose makes the next choice, of this many.
func (d *interleaving) choose(of int) int {
	if d.made == len(d.choices) {
		d.choices = append(d.choices, choice{of: of})
	}
	d.made++
	return d.choices[d.made-1].at
}

// begin begins with the first combination, in which nothing is told.
func (d *interleaving) begin() *interleaving {
	d.choices, d.made, d.told = d.choices[:0], 0, d.told[:0]
	return d
}

// next begins the next combination of choices, and is false if there is none.
func (d *interleaving) next() bool {
	d.choices, d.made, d.told = d.choices[:d.made], 0, d.told[:0]
	for n := len(d.choices); n > 0; n-- {
		if c := &d.choices[n-1]; c.at+1 < c.of {
			c.at++
			d.choices = d.choices[:n]
			return true
		}
	}
	return false
}

// hasTold says whether something was told in this step: itself, or what undoes it, because an order
// that is given and withdrawn in one wait, in either order, is as if nothing had been told.
func (d *interleaving) hasTold(what inputKind) bool {
	switch what {
	case stays, resigns:
		return slices.Contains(d.told, stays) || slices.Contains(d.told, resigns)
	default:
		return slices.Contains(d.told, what)
	}
}

// waits is when a step of the session waits, and its driver may tell it something.
func (w *stepping) waits() {
	for d := w.interleaving; d != nil; {
		var room [16]inputKind
		can := room[:0]
		for _, what := range beside {
			if w.canTell(what) && !d.hasTold(what) {
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
		d.told = append(d.told, can[k-1])
		w.tell(can[k-1])
	}
}

// effect is what comes of something that happens to a node: what is left when all that the
// explorer does not tell apart is taken away.
type effect struct {
	node   node
	says   []message
	ended  bool
	beyond bool
	defect defect
}

// covers says whether all that can follow another effect can follow this one.
func (r *effect) covers(other *effect) bool {
	return r.node == other.node && r.ended == other.ended &&
		!slices.ContainsFunc(other.says, func(msg message) bool { return !slices.Contains(r.says, msg) }) &&
		!slices.ContainsFunc(r.says, func(msg message) bool { return msg.won && !slices.Contains(other.says, msg) })
}

// alsoWaiting has something happen to a node with all that can be told while it waits, and
// says what is wrong with what comes of that. The first combination, that nothing is told, has been tried.
func (m *model) alsoWaiting(d *interleaving, n *node, back renaming, happens func(*stepping)) defect {
	for d.next() {
		w := m.stepOf(n, back)
		w.interleaving = d
		happens(w)
		r := w.effect()
		switch {
		case !r.defect.none():
			return r.defect
		case len(d.told) == 0 || r.beyond || m.comesApart(n, back, happens, d.told, w.withdrawn, &r):
			continue
		}
		return defect{invariant.LegalStep, fmt.Sprintf("if, while it waits, %s, it becomes what it would not if that happened before or after", m.describeAll(d.told))}
	}
	return defect{}
}

// comesApart says whether an input has the same effect when all that was told while its step waited is
// told before it and after it instead.
func (m *model) comesApart(n *node, back renaming, happens func(*stepping), told []inputKind, withdrawn bool, want *effect) bool {
	return slices.ContainsFunc(orders(told), func(all []inputKind) bool {
		for before := range len(all) + 1 {
			w := m.stepOf(n, back)
			for _, what := range all[:before] {
				w.happens(m.given(input{kind: what}, m.renamings[0]))
			}
			if !withdrawn {
				happens(w)
			}
			for _, what := range all[before:] {
				w.happens(m.given(input{kind: what}, m.renamings[0]))
			}
			if r := w.effect(); r.defect.none() && !r.beyond && r.covers(want) {
				return true
			}
		}
		return false
	})
}

// describeAll are things that a session was told, in words.
func (m *model) describeAll(told []inputKind) string {
	var all []string
	for _, what := range told {
		all = append(all, m.describe(input{kind: what}, m.renamings[0]))
	}
	return strings.Join(all, ", then ")
}

// orders are all orders of some things.
func orders(of []inputKind) (all [][]inputKind) {
	if len(of) == 0 {
		return [][]inputKind{nil}
	}
	for i, first := range of {
		rest := slices.Delete(slices.Clone(of), i, i+1)
		for _, after := range orders(rest) {
			all = append(all, append([]inputKind{first}, after...))
		}
	}
	return all
}
