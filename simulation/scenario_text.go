// Scenarios as text: one line for each thing that is said.
//
//	members 3
//	duration 5s
//	at 1.2s crash n1 for 300ms
//	at 2s partition links n0>n1,n1>n0 for 1s
//	message n0>n2 #17 lost
//	wait n1 #4 48ms
//	expect leader n2 in term 2 at 3s

package simulation

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// String is the scenario's text, which ParseScenario reads.
func (s *Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "members %d\nduration %v\n", s.Members, s.Duration)
	for _, is := range []struct {
		on   bool
		word string
	}{
		{s.Timing != elector.DefaultTiming() && s.Timing != (elector.Timing{}), "timing " + timingText(s.Timing)},
		{s.Leases, "leases on"},
		{s.NoPreVote, "pre-vote off"},
		{s.NoRanks, "ranks off"},
		{s.Careless != Careful, "careless " + s.Careless.String()},
	} {
		if is.on {
			b.WriteString(is.word + "\n")
		}
	}
	if s.Delay != 0 && s.Delay != dullDelay {
		fmt.Fprintf(&b, "delay %v\n", s.Delay)
	}
	if s.Tick != 0 && s.Tick != dullTick {
		fmt.Fprintf(&b, "tick-every %v\n", s.Tick)
	}
	if s.Heal != nil {
		b.WriteString("heal " + nodeList(s.Heal) + "\n")
	}
	for i := range s.Strikes {
		b.WriteString(s.Strikes[i].String() + "\n")
	}
	for _, c := range slices.SortedFunc(maps.Keys(s.choices), compareChoices) {
		b.WriteString(c.text(s.choices[c]) + "\n")
	}
	for _, e := range s.Expect {
		b.WriteString("expect " + e.String() + "\n")
	}
	return b.String()
}

func compareChoices(a, b choice) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.node, b.node), cmp.Compare(a.to, b.to), cmp.Compare(a.number, b.number))
}

func nodeList(nodes []int) string {
	words := make([]string, len(nodes))
	for i, n := range nodes {
		words[i] = fmt.Sprintf("n%d", n)
	}
	return strings.Join(words, " ")
}

// String is the strike's line.
func (s *Strike) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v %v", s.At, s.Fault)
	if s.Node >= 0 {
		fmt.Fprintf(&b, " n%d", s.Node)
	}
	if s.Other >= 0 {
		fmt.Fprintf(&b, " to n%d", s.Other)
	}
	if s.Count != 0 {
		fmt.Fprintf(&b, " count %d", s.Count)
	}
	for i, l := range s.Links {
		fmt.Fprintf(&b, "%s%s", [...]string{" links ", ","}[min(i, 1)], fmt.Sprintf("n%d>n%d", l[0], l[1]))
	}
	if s.Lasts != 0 {
		fmt.Fprintf(&b, " for %v", s.Lasts)
	}
	return b.String()
}

// text is the line of a choice.
func (c choice) text(v chosen) string {
	name := choiceNames[c.kind]
	switch {
	case c.kind == chooseTorn:
		return fmt.Sprintf("%s n%d #%d %d", name, c.node, c.number, v.first)
	case !c.kind.ofLink():
		return fmt.Sprintf("%s n%d #%d %v", name, c.node, c.number, time.Duration(v.first))
	}
	line := fmt.Sprintf("%s n%d>n%d #%d", name, c.node, c.to, c.number)
	if v.first == lost {
		line += " lost"
	} else {
		line += " " + time.Duration(v.first).String()
	}
	if v.second != 0 {
		line += " again " + time.Duration(v.second).String()
	}
	return line
}

// ParseScenario reads a scenario's text. Lines that begin with # say nothing. The error
// names the line.
func ParseScenario(r io.Reader) (*Scenario, error) {
	s := &Scenario{choices: map[choice]chosen{}}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.parseLine(&words{rest: strings.Fields(line)}); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", number, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// check looks at what no line alone can tell.
func (s *Scenario) check() error {
	if err := s.fill(); err != nil {
		return err
	}
	for i := range s.Strikes {
		strike := &s.Strikes[i]
		if named := max(strike.Node, strike.Other); named >= maxNodes {
			return fmt.Errorf("%q: there is no n%d", strike, named)
		}
		for _, l := range strike.Links {
			if l[0] >= maxNodes || l[1] >= maxNodes {
				return fmt.Errorf("%q: there is no link n%d>n%d", strike, l[0], l[1])
			}
		}
		if strike.Node < 0 && strike.needsNode() {
			return fmt.Errorf("%q: a node is missing", strike)
		}
		if least, most := strike.counts(s.Timing); strike.Count < least || strike.Count > most {
			return fmt.Errorf("%q: count is to be from %d to %d", strike, least, most)
		}
	}
	for _, n := range s.Heal {
		if n >= s.Members {
			return fmt.Errorf("heal: there is no voter n%d", n)
		}
	}
	if s.Heal != nil && len(s.Heal) < memberstate.Quorum(memberstate.Set(1<<s.Members-1)) {
		return fmt.Errorf("heal: %d of %d nodes are no quorum", len(s.Heal), s.Members)
	}
	return nil
}

// needsNode says whether the strike is nothing without a node.
func (s *Strike) needsNode() bool {
	return s.Fault != Prefer && s.Fault != Observe && len(s.Links) == 0
}

// counts are the limits of what the strike counts, where groups have these intervals.
func (s *Strike) counts(t elector.Timing) (least, most int64) {
	switch s.Fault {
	case ClockRate:
		return -mostDrift(t), mostDrift(t)
	case ClockBeyond:
		return -anyDrift, anyDrift
	case WallJump, Prefer:
		return math.MinInt64, math.MaxInt64
	case Flap:
		return 0, 1000
	default:
		return 0, math.MaxUint32
	}
}

func (s *Scenario) parseLine(w *words) error {
	switch first := w.next(); first {
	case "members":
		s.Members = int(w.number())
	case "duration":
		s.Duration = w.duration()
	case "delay":
		s.Delay = w.duration()
	case "tick-every":
		s.Tick = w.duration()
	case "timing":
		s.Timing = w.timing()
	case "leases":
		s.Leases = w.on()
	case "pre-vote":
		s.NoPreVote = !w.on()
	case "ranks":
		s.NoRanks = !w.on()
	case "careless":
		w.oneOf(map[string]func(){
			CarelessAlways.String():  func() { s.Careless = CarelessAlways },
			CarelessOverlap.String(): func() { s.Careless = CarelessOverlap },
			Careful.String():         func() { s.Careless = Careful },
		})
	case "heal":
		for len(w.rest) > 0 && w.err == nil {
			s.Heal = append(s.Heal, w.node())
		}
		slices.Sort(s.Heal)
	case "at":
		s.Strikes = append(s.Strikes, w.strike())
	case "expect":
		s.Expect = append(s.Expect, w.expectation())
	default:
		kind := slices.Index(choiceNames[:], first)
		if kind < 0 {
			return fmt.Errorf("no line begins with %q", first)
		}
		c, v := w.choice(choiceKind(kind))
		s.choices[c] = v
	}
	if w.err == nil && len(w.rest) > 0 {
		return fmt.Errorf("what is %q?", strings.Join(w.rest, " "))
	}
	return w.err
}

// words are what is left of a line, and the first thing that was wrong with it.
type words struct {
	rest []string
	err  error
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *words) next() string {
	if len(w.rest) == 0 {
		w.fail("it ends too early")
		return ""
	}
	word := w.rest[0]
	w.rest = w.rest[1:]
	return word
}

// has takes a word if it is the next one.
func (w *words) has(word string) bool {
	if len(w.rest) > 0 && w.rest[0] == word {
		w.rest = w.rest[1:]
		return true
	}
	return false
}

func (w *words) number() int64 {
	word := w.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		w.fail("%q is no number", word)
	}
	return n
}

func (w *words) duration() time.Duration {
	word := w.next()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		w.fail("%q is no time such as 300ms", word)
	}
	return d
}

// timing reads what timingText writes.
func (w *words) timing() (t elector.Timing) {
	w.oneOf(map[string]func(){
		"default": func() { t = elector.DefaultTiming() },
		"dledger": func() { t = elector.DLedgerTiming() },
		"heartbeat": func() {
			t.Heartbeat = w.duration()
			w.oneOf(map[string]func(){"leak": func() { t.Leak = int(w.number()) }})
			w.oneOf(map[string]func(){"vote-wait": func() { t.MinVoteWait, t.MaxVoteWait = w.duration(), w.duration() }})
			w.oneOf(map[string]func(){"round": func() { t.RoundTimeout = w.duration() }})
			w.oneOf(map[string]func(){"margin": func() { t.DriftMargin = w.duration() }})
		},
	})
	return t
}

func timingText(t elector.Timing) string {
	if t == elector.DLedgerTiming() {
		return "dledger"
	}
	return fmt.Sprintf("heartbeat %v leak %d vote-wait %v %v round %v margin %v",
		t.Heartbeat, t.Leak, t.MinVoteWait, t.MaxVoteWait, t.RoundTimeout, t.DriftMargin)
}

func (w *words) on() (on bool) {
	w.oneOf(map[string]func(){"on": func() { on = true }, "off": func() {}})
	return on
}

func (w *words) oneOf(known map[string]func()) {
	word := w.next()
	if do := known[word]; do != nil {
		do()
		return
	}
	w.fail("%q is none of %s", word, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

func (w *words) node() int {
	word := w.next()
	n, err := parseNode(word)
	if err != nil {
		w.fail("%w", err)
	}
	return n
}

func parseNode(word string) (int, error) {
	digits, ok := strings.CutPrefix(word, "n")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is no node such as n0", word)
	}
	return int(n), nil
}

func parseLink(word string) (link [2]int, err error) {
	from, to, ok := strings.Cut(word, ">")
	var problems [2]error
	link[0], problems[0] = parseNode(from)
	link[1], problems[1] = parseNode(to)
	if !ok || errors.Join(problems[:]...) != nil || max(link[0], link[1]) >= maxNodes {
		return link, fmt.Errorf("%q is no link such as n0>n1", word)
	}
	return link, nil
}

func (w *words) links() (links [][2]int) {
	for word := range strings.SplitSeq(w.next(), ",") {
		l, err := parseLink(word)
		if err != nil {
			w.fail("%w", err)
		}
		links = append(links, l)
	}
	return links
}

// strike reads what follows "at".
func (w *words) strike() Strike {
	s := Strike{At: w.duration(), Node: nobody, Other: nobody}
	name := w.next()
	at := slices.IndexFunc(Faults(), func(f Fault) bool { return f.String() == name })
	if at < 0 || known[at].inflict == nil {
		w.fail("no fault that strikes at a time is called %q", name)
		return s
	}
	s.Fault = Fault(at)
	for len(w.rest) > 0 && w.err == nil {
		switch {
		case w.has("to"):
			s.Other = w.node()
		case w.has("count"):
			s.Count = w.number()
		case w.has("links"):
			s.Links = w.links()
		case w.has("for"):
			s.Lasts = w.duration()
		default:
			s.Node = w.node()
		}
	}
	return s
}

// choice reads what follows the kind of a choice.
func (w *words) choice(kind choiceKind) (c choice, v chosen) {
	c.kind = kind
	if kind.ofLink() {
		l, err := parseLink(w.next())
		if err != nil {
			w.fail("%w", err)
		}
		c.node, c.to = uint8(l[0]), uint8(l[1])
	} else {
		c.node = uint8(w.node())
	}
	digits, ok := strings.CutPrefix(w.next(), "#")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil {
		w.fail("%q is no number such as #17", digits)
	}
	c.number = uint32(n)
	switch {
	case kind == chooseTorn:
		v.first = w.number()
	case kind.ofLink() && w.has("lost"):
		v.first = lost
	default:
		v.first = int64(w.duration())
	}
	if kind.ofLink() && w.has("again") {
		v.second = int64(w.duration())
	}
	return c, v
}

// expectation reads what follows "expect".
func (w *words) expectation() Expectation {
	e := Expectation{Leader: AnyLeader}
	switch {
	case w.has("violation"):
		name := strings.Join(w.rest, " ")
		w.rest = nil
		at := slices.Index(invariantNames[:], name)
		if at < 0 {
			w.fail("no invariant is called %q; there are %s", name, strings.Join(invariantNames[:], ", "))
			return e
		}
		i := Invariant(at)
		e.Violation = &i
		return e
	case w.has("no"):
		e.Leader = NoLeader
		w.oneOf(map[string]func(){"leader": func() {}})
	case w.has("leader"):
		e.Leader = w.node()
		if w.has("in") {
			w.oneOf(map[string]func(){"term": func() { e.Term = memberstate.Term(w.number()) }})
		}
	default:
		w.oneOf(map[string]func(){"term": func() { e.Term = memberstate.Term(w.number()) }})
	}
	w.oneOf(map[string]func(){"at": func() { e.At = w.duration() }})
	return e
}
