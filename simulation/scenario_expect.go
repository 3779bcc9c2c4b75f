// What a scenario expects, at a time or in the end.

package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// Expectation is something that must be so at a time, or a violation in the end.
type Expectation struct {
	At time.Duration
	// Violation is the invariant that must be violated in the end; nil if this is about a time.
	Violation *invariant.Invariant

	what  string // as the scenario's text says it
	line  int    // of the text; 0: none
	group int    // the group that it is about
	// met says whether a world is as expected now, and if not, how it is.
	met func(w *world) (found string, met bool)
}

// breaks expects a violation.
func breaks(i invariant.Invariant) Expectation { return Expectation{Violation: &i} }

// String is the expectation as a scenario's text has it, without the word expect.
func (e *Expectation) String() string {
	if e.Violation != nil {
		return fmt.Sprintf("violation %v", *e.Violation)
	}
	return fmt.Sprintf("%s at %v", e.what, e.At)
}

func (e *Expectation) unmet(found string) string {
	text := fmt.Sprintf("expected: %v; found: %s", e, found)
	if e.line > 0 {
		return fmt.Sprintf("line %d: %s", e.line, text)
	}
	return text
}

// expectation reads what follows "expect".
func (w *words) expectation() (e Expectation) {
	from := w.Left()
	place, named := w.group()
	e.group = place
	switch {
	case !named && w.Has("violation"):
		return breaks(w.Violation())
	case w.Has("term"):
		e.met = w.expectTerm(place)
	case w.Has("leader"):
		e.met = w.expectLeader(place)
	case w.Has("lease"):
		e.met = w.expectLease(place)
	case w.Has("answer"):
		e.met = w.expectAnswer(place, false)
	case w.Has("rounds"):
		e.met = w.expectRounds(place)
	case w.Has("order"):
		e.met = w.expectOrder(place)
	case w.Has("no"):
		e.met = w.expectNone(place)
	default:
		e.met = w.expectState(place)
	}
	e.what = strings.Join(from[:len(from)-len(w.Left())], " ")
	w.OneOf(map[string]func(){"at": func() { e.At = w.Duration() }})
	return e
}

// described describes a world that is not as expected.
func described(place int, is func(w *world) bool) func(w *world) (string, bool) {
	return func(w *world) (string, bool) {
		if is(w) {
			return "", true
		}
		return w.describe(place), false
	}
}

// inTerm reads a term; 0, which means any, if none is named.
func (w *words) inTerm() (term memberstate.Term) {
	if w.Has("in") {
		w.OneOf(map[string]func(){"term": func() { term = memberstate.Term(w.Natural(math.MaxUint64)) }})
	}
	return term
}

// expectTerm is about the largest term that any node is in.
func (w *words) expectTerm(place int) func(*world) (string, bool) {
	want := memberstate.Term(w.Natural(math.MaxUint64))
	return described(place, func(w *world) bool {
		var term memberstate.Term
		for i := range w.nodes {
			term = max(term, w.nodes[i].members[place].group.State().Term)
		}
		return term == want
	})
}

// expectLeader is about the leader: of the nodes that consider themselves leader, that of the largest
// term.
func (w *words) expectLeader(place int) func(*world) (string, bool) {
	node, term := w.Node(), w.inTerm()
	return described(place, func(w *world) bool {
		leader := w.leader(place)
		return leader != nil && leader.Index == node && (term == 0 || leader.group.State().Term == term)
	})
}

// expectNone reads what follows "no".
func (w *words) expectNone(place int) (met func(*world) (string, bool)) {
	w.OneOf(map[string]func(){
		"leader": func() { met = described(place, func(w *world) bool { return w.leader(place) == nil }) },
		"lease":  func() { met = expectNoLease(place) },
		"answer": func() { met = w.expectAnswer(place, true) },
	})
	return met
}

// holders are the members that hold a lease of a group by true time.
func (w *world) holders(place int) (all []*member) {
	for i := range w.nodes {
		if m := &w.nodes[i].members[place]; m.Alive && m.Lease.Term != 0 && m.Lease.Until > w.now {
			all = append(all, m)
		}
	}
	return all
}

func expectNoLease(place int) func(*world) (string, bool) {
	return func(w *world) (string, bool) {
		if all := w.holders(place); len(all) > 0 {
			return fmt.Sprintf("n%d holds one in term %d until %v", all[0].Index, all[0].Lease.Term, time.Duration(all[0].Lease.Until)), false
		}
		return "", true
	}
}

// expectLease is about the holder of a lease.
func (w *words) expectLease(place int) func(*world) (string, bool) {
	node, term := w.Node(), w.inTerm()
	return func(w *world) (string, bool) {
		is := slices.ContainsFunc(w.holders(place), func(m *member) bool { return m.Index == node && (term == 0 || m.Lease.Term == term) })
		if is {
			return "", true
		}
		if found, none := expectNoLease(place)(w); !none {
			return found, false
		}
		return "nobody holds one", false
	}
}

// expectState is about the role that a node has.
func (w *words) expectState(place int) func(*world) (string, bool) {
	node, leader, role := w.Node(), nobody, memberstate.Role(0)
	up, quiet := true, false
	w.OneOf(map[string]func(){
		"down":      func() { up = false },
		"leader":    func() { role = memberstate.Leader },
		"resting":   func() { role, quiet = memberstate.Leader, true },
		"bonded":    func() { role, quiet = memberstate.Follower, true },
		"candidate": func() { role = memberstate.Candidate },
		"follower":  func() { role = memberstate.Follower },
		"observer":  func() { role = memberstate.Observer },
	})
	if w.Has("of") {
		leader = w.Node()
	}
	term := w.inTerm()
	return described(place, func(w *world) bool {
		if node >= len(w.nodes) {
			return false
		}
		n := &w.nodes[node]
		g := &n.members[place].group
		if !up || !n.Alive {
			return n.Alive == up
		}
		s := g.State()
		fits := s.Role == role && (leader == nobody || int(s.Leader) == leader+1) && (term == 0 || s.Term == term)
		return fits && (!quiet || g.Rests() || g.Bonded())
	})
}

// expectAnswer is about an answer that was given by then, or was not.
func (w *words) expectAnswer(place int, never bool) func(*world) (string, bool) {
	link, name := w.Link(), w.Next()
	var result rpc.Result
	for r := rpc.Accept; r <= rpc.NotAble; r++ {
		if r.String() == name {
			result = r
		}
	}
	if result == 0 {
		w.Fail("no answer is called %q", name)
	}
	return func(w *world) (string, bool) {
		given := w.account.answers[answer{uint8(place), uint8(link[0]), uint8(link[1]), result}]
		return fmt.Sprintf("it was given %d times", given), never == (given == 0)
	}
}

// expectRounds is about how many rounds of votes a node has asked for.
func (w *words) expectRounds(place int) func(*world) (string, bool) {
	node, least := w.Node(), w.Number()
	most := least
	if w.Has("to") {
		most = w.Number()
	}
	return func(w *world) (string, bool) {
		count := int64(w.account.rounds[asker{uint8(place), uint8(node)}].count)
		return fmt.Sprint(count), least <= count && count <= most
	}
}

// expectOrder is about the outcome of the newest order that a node was given.
func (w *words) expectOrder(place int) func(*world) (string, bool) {
	node := w.Node()
	var want check.Outcome
	w.OneOf(map[string]func(){
		"open":   func() {},
		"done":   func() { want.Settled = true },
		"failed": func() { want = check.Outcome{Settled: true, Problem: w.reason()} },
	})
	return func(w *world) (string, bool) {
		if node >= len(w.nodes) || w.nodes[node].members[place].outcome == nil {
			return "there was none", false
		}
		is := *w.nodes[node].members[place].outcome
		met := is.Settled == want.Settled && (is.Problem == "") == (want.Problem == "") && strings.Contains(is.Problem, strings.TrimSpace(want.Problem))
		return is.String(), met
	}
}

// reason reads what follows "because", up to the time; a blank if nothing does.
func (w *words) reason() string {
	if !w.Has("because") {
		return " "
	}
	var text []string
	for w.More() && w.Left()[0] != "at" {
		text = append(text, w.Next())
	}
	return strings.Join(text, " ")
}

// account counts the messages that a scenario may expect.
type account struct {
	answers map[answer]int
	rounds  map[asker]asked
}

// answer is an answer of one node to another.
type answer struct {
	group, from, to uint8
	result          rpc.Result
}

// asker is a member that asks for votes, and asked is how often it has done so.
type asker struct{ group, node uint8 }

type asked struct {
	count  int
	newest uint32
	term   memberstate.Term
}

// sent notes a message.
func (a *account) sent(p *parcel) {
	b := &p.message.Body
	switch {
	case p.engine:
	case b.Result != 0:
		a.answers[answer{p.group, p.from, p.to, b.Result}]++
	case b.Kind == rpc.VoteRequest:
		by := asker{p.group, p.from}
		if r := a.rounds[by]; r.newest != b.Round || r.term != b.Term { // else it is the same request to another node, or repeated
			a.rounds[by] = asked{r.count + 1, b.Round, b.Term}
		}
	}
}
