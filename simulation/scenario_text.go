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
	if s.Term != 0 {
		fmt.Fprintf(&b, "first-term %d\n", s.Term)
	}
	if s.Counters != 0 {
		fmt.Fprintf(&b, "count-from %d\n", s.Counters)
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
	for i := range s.Expect {
		b.WriteString("expect " + s.Expect[i].String() + "\n")
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
	switch {
	case s.Count > 0 && s.Fault.countsTime():
		fmt.Fprintf(&b, " by %v", time.Duration(s.Count))
	case s.Count != 0:
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

// countsTime says whether what a fault counts are nanoseconds.
func (f Fault) countsTime() bool {
	return f == SlowLink || f == SlowNode || f == GivenUp || f == LateWord
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
	s := &Scenario{choices: map[choice]chosen{}, lines: map[choice]int{}}
	var all []line
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		l := line{number: number, text: strings.TrimSpace(lines.Text())}
		if l.text == "" || strings.HasPrefix(l.text, "#") {
			continue
		}
		w := &words{rest: strings.Fields(l.text), line: number}
		err := s.parseLine(w)
		if o := s.Options; err == nil { // a copy
			err = o.fill()
		}
		if err != nil {
			return nil, l.refused(err)
		}
		l.nodes = w.nodes
		all = append(all, l)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if err := s.fill(); err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.checkLine(&all[i]); err != nil {
			return nil, all[i].refused(err)
		}
	}
	return s, nil
}

// line is one of a text, with the nodes that it names.
type line struct {
	number int
	text   string
	nodes  []int
}

func (l *line) refused(err error) error { return fmt.Errorf("line %d: %q: %w", l.number, l.text, err) }

// checkLine looks at what a line can be told only when all are known.
func (s *Scenario) checkLine(l *line) error {
	there := s.Members
	for _, later := range []Fault{Observe, Twin} {
		if slices.ContainsFunc(s.Strikes, func(k Strike) bool { return k.Fault == later }) {
			there++
		}
	}
	for _, n := range l.nodes {
		if n >= there {
			return fmt.Errorf("there is no n%d", n)
		}
	}
	for i := range s.Strikes {
		if k := &s.Strikes[i]; k.line == l.number {
			return s.checkStrike(k)
		}
	}
	for i := range s.Expect {
		if e := &s.Expect[i]; e.line == l.number && e.At > s.Duration {
			return fmt.Errorf("the scenario ends at %v", s.Duration)
		}
	}
	if strings.HasPrefix(l.text, "heal ") {
		return s.checkHeal()
	}
	return nil
}

// check looks at what no line alone can tell.
func (s *Scenario) check() error {
	for i := range s.Strikes {
		if err := s.checkStrike(&s.Strikes[i]); err != nil {
			return fmt.Errorf("%q: %w", &s.Strikes[i], err)
		}
	}
	if err := s.checkHeal(); err != nil {
		return fmt.Errorf("heal: %w", err)
	}
	return nil
}

func (s *Scenario) checkStrike(k *Strike) error {
	if k.At > s.Duration {
		return fmt.Errorf("the scenario ends at %v", s.Duration)
	}
	for _, l := range append([][2]int{{k.Node, k.Other}}, k.Links...) {
		if n := max(l[0], l[1]); n >= maxNodes {
			return fmt.Errorf("there is no n%d", n)
		}
	}
	if k.Node < 0 && k.needsNode() {
		return errors.New("a node is missing")
	}
	if len(k.Links) == 0 && k.isCut() && k.Fault != Isolation {
		return errors.New("links are missing")
	}
	if least, most := k.counts(s.Timing); k.Count < least || k.Count > most {
		return fmt.Errorf("count is to be from %d to %d", least, most)
	}
	return nil
}

func (s *Scenario) checkHeal() error {
	for _, n := range s.Heal {
		if n >= s.Members {
			return fmt.Errorf("there is no voter n%d", n)
		}
	}
	if s.Heal != nil && len(s.Heal) < memberstate.Quorum(memberstate.Set(1<<s.Members-1)) {
		return fmt.Errorf("%d of %d nodes are no quorum", len(s.Heal), s.Members)
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
	case SwitchLeases:
		return 0, maxNodes
	case SlowLink, SlowNode, SlowEngine, KillInSave, GivenUp, LateWord: // nanoseconds
		return 0, int64(24 * time.Hour)
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
	case "first-term":
		s.Term = memberstate.Term(w.natural(math.MaxUint64))
	case "count-from":
		s.Counters = uint32(w.natural(math.MaxUint32))
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
		strike := w.strike()
		strike.line = w.line
		s.Strikes = append(s.Strikes, strike)
	case "expect":
		e := w.expectation()
		e.line = w.line
		s.Expect = append(s.Expect, e)
	default:
		kind := slices.Index(choiceNames[:], first)
		if kind < 0 {
			return fmt.Errorf("no line begins with %q", first)
		}
		c, v := w.choice(choiceKind(kind))
		if w.err == nil && s.lines[c] > 0 {
			return fmt.Errorf("line %d says it already", s.lines[c])
		}
		s.choices[c], s.lines[c] = v, w.line
	}
	if w.err == nil && len(w.rest) > 0 {
		return fmt.Errorf("what is %q?", strings.Join(w.rest, " "))
	}
	return w.err
}

// words are what is left of a line, and the first thing that was wrong with it.
type words struct {
	rest  []string
	err   error
	line  int
	nodes []int // that it names
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

// natural is a number that is not negative.
func (w *words) natural(most uint64) uint64 {
	word := w.next()
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil || n > most {
		w.fail("%q is no number from 0 to %d", word, most)
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
	w.nodes = append(w.nodes, n)
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

func (w *words) link() [2]int { return w.linkOf(w.next()) }

func (w *words) linkOf(word string) (link [2]int) {
	from, to, ok := strings.Cut(word, ">")
	var problems [2]error
	link[0], problems[0] = parseNode(from)
	link[1], problems[1] = parseNode(to)
	if !ok || errors.Join(problems[:]...) != nil || link[0] == link[1] {
		w.fail("%q is no link such as n0>n1", word)
	}
	w.nodes = append(w.nodes, link[0], link[1])
	return link
}

func (w *words) links() (links [][2]int) {
	for word := range strings.SplitSeq(w.next(), ",") {
		links = append(links, w.linkOf(word))
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
		case w.has("by"):
			if s.Count = int64(w.duration()); !s.Fault.countsTime() {
				w.fail("%v counts no time", s.Fault)
			}
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
		l := w.link()
		c.node, c.to = uint8(l[0]), uint8(l[1])
	} else {
		c.node = uint8(w.node())
	}
	digits, ok := strings.CutPrefix(w.next(), "#")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || n == 0 {
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
