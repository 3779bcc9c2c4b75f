// Scenarios as text, line by line.
//
//	members 3
//	duration 5s
//	at 1.2s crash n1 for 300ms
//	at 1.5s resign n0 g3
//	at 2s partition links n0>n1,n1>n0 for 1s
//	message n0>n2 #17 lost
//	wait n1 #4 48ms
//	expect leader n2 in term 2 at 3s
//
// With the line "groups 4", nodes have the groups g0 to g3. A line that concerns a group and names
// none is about g0; "all-groups" stands for all groups of a node.

package simulation

import (
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
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/text"
)

// String is the scenario's text, which ParseScenario reads.
func (s *Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "members %d\n", s.Members)
	if s.Groups > 1 {
		fmt.Fprintf(&b, "groups %d\n", s.Groups)
	}
	fmt.Fprintf(&b, "duration %v\n", s.Duration)
	for _, is := range []struct {
		on   bool
		word string
	}{
		{s.Timing != elector.DefaultTiming() && s.Timing != (elector.Timing{}), "timing " + timingText(s.Timing)},
		{s.Observers > 0, fmt.Sprintf("observers %d", s.Observers)},
		{s.Preferred > 0, fmt.Sprintf("preferred %d", s.Preferred)},
		{s.Vouch > 0, fmt.Sprintf("vouch %v", s.Vouch)},
		{s.Asked, "asked on"},
		{s.Judged, "judged on"},
		{s.Beats, "beats on"},
		{s.Campaigns > 0, fmt.Sprintf("campaigns %d", s.Campaigns)},
		{s.Uneven > 0, fmt.Sprintf("uneven %d", s.Uneven)},
		{s.Leases, "leases on"},
		{s.NoPreVote, "pre-vote off"},
		{s.NoRanks, "ranks off"},
		{s.Careless != Careful, "careless " + s.Careless.String()},
	} {
		if is.on {
			b.WriteString(is.word + "\n")
		}
	}
	if s.Delay != 0 && s.Delay != defaultDelay {
		fmt.Fprintf(&b, "delay %v\n", s.Delay)
	}
	if s.Tick != 0 && s.Tick != defaultTick {
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
	for _, c := range slices.SortedFunc(maps.Keys(s.choices), choice.Compare) {
		b.WriteString(c.Line(s.choices[c]) + "\n")
	}
	for i := range s.Expect {
		b.WriteString("expect " + s.Expect[i].String() + "\n")
	}
	return b.String()
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
	case !s.Fault.is(perGroup) || s.Group == 0: // the first group is not named
	case s.Group == EveryGroup:
		b.WriteString(" " + everyGroup)
	default:
		b.WriteString(" " + groupNames[s.Group])
	}
	switch {
	case s.Count > 0 && s.Fault.is(countsTime):
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

// everyGroup is the word for EveryGroup.
const everyGroup = "all-groups"

// ParseScenario reads a scenario's text. A # between blanks, or at the beginning of a line, begins a
// comment. The error names the line.
func ParseScenario(r io.Reader) (*Scenario, error) {
	s := &Scenario{choices: map[choice.Address]choice.Value{}, lines: map[choice.Address]int{}}
	lines, err := text.Read(r, func(w *text.Words) error {
		if err := s.parseLine(&words{w}); err != nil {
			return err
		}
		o := s.Options // a copy
		return o.fill()
	})
	if err != nil {
		return nil, err
	}
	if err := s.fill(); err != nil {
		return nil, err
	}
	there := s.mostNodes()
	for i := range lines {
		if err := s.checkLine(&lines[i], there); err != nil {
			return nil, lines[i].Refused(err)
		}
	}
	return s, nil
}

// mostNodes is how many nodes there will be.
func (s *Scenario) mostNodes() int {
	there := min(s.Members+s.Observers, maxSeats)
	for _, f := range Faults() {
		if f.is(addsNode) && slices.ContainsFunc(s.Strikes, func(k Strike) bool { return k.Fault == f }) {
			there++
		}
	}
	return there
}

// checkLine makes the checks of a line for which all lines must be known.
func (s *Scenario) checkLine(l *text.Line, there int) error {
	for _, n := range l.Nodes {
		if n >= there {
			return fmt.Errorf("there is no n%d", n)
		}
	}
	for i := range s.Strikes {
		if k := &s.Strikes[i]; k.line == l.Number {
			return s.checkStrike(k)
		}
	}
	for i := range s.Expect {
		if e := &s.Expect[i]; e.line == l.Number {
			return s.checkExpectation(e)
		}
	}
	switch {
	case strings.HasPrefix(l.Text, "heal "):
		return s.checkHeal()
	case strings.HasPrefix(l.Text, "preferred "):
		return s.checkPreferred()
	}
	return nil
}

// check makes the checks for which the whole scenario must be known.
func (s *Scenario) check() error {
	for i := range s.Strikes {
		if err := s.checkStrike(&s.Strikes[i]); err != nil {
			return fmt.Errorf("%q: %w", &s.Strikes[i], err)
		}
	}
	for i := range s.Expect {
		if err := s.checkExpectation(&s.Expect[i]); err != nil {
			return fmt.Errorf("expect %v: %w", &s.Expect[i], err)
		}
	}
	if err := s.checkHeal(); err != nil {
		return fmt.Errorf("heal: %w", err)
	}
	return s.checkPreferred()
}

func (s *Scenario) checkPreferred() error {
	if s.Preferred > s.Members {
		return fmt.Errorf("there are %d voters", s.Members)
	}
	return nil
}

func (s *Scenario) checkExpectation(e *Expectation) error {
	if e.At > s.Duration {
		return fmt.Errorf("the scenario ends at %v", s.Duration)
	}
	return s.checkGroup(e.group)
}

func (s *Scenario) checkGroup(place int) error {
	if place >= max(s.Groups, 1) {
		return fmt.Errorf("there is no g%d", place)
	}
	return nil
}

func (s *Scenario) checkStrike(k *Strike) error {
	if k.At > s.Duration {
		return fmt.Errorf("the scenario ends at %v", s.Duration)
	}
	for _, l := range append([][2]int{{k.Node, k.Other}}, k.Links...) {
		switch n := max(l[0], l[1]); {
		case n >= maxNodes:
			return fmt.Errorf("there is no n%d", n)
		case l[0] == l[1] && n >= 0:
			return fmt.Errorf("n%d is named twice", n)
		}
	}
	if k.Fault == Prefer && k.Count>>s.Members != 0 {
		return fmt.Errorf("there are %d voters", s.Members)
	}
	if k.Group < EveryGroup || k.Group != 0 && !k.Fault.is(perGroup) {
		return fmt.Errorf("%v strikes no single group", k.Fault)
	}
	if err := s.checkGroup(k.Group); err != nil {
		return err
	}
	if k.Node < 0 && len(k.Links) == 0 && !k.Fault.is(nodeOptional) {
		return errors.New("a node is missing")
	}
	if len(k.Links) == 0 && k.Fault.is(cutsLinks) && !k.Fault.is(linksImplied) {
		return errors.New("links are missing")
	}
	if least, most := k.Fault.countLimits(s.Timing); k.Count < least || k.Count > most {
		return fmt.Errorf("the count must be from %d to %d", least, most)
	}
	return nil
}

func (s *Scenario) checkHeal() error {
	for _, n := range s.Heal {
		if n >= s.Members {
			return fmt.Errorf("there is no voter n%d", n)
		}
	}
	measure := s.measure()
	if s.Heal != nil && len(s.Heal) < measure.Majority() {
		return fmt.Errorf("%d of %d nodes are no quorum", len(s.Heal), s.Members)
	}
	return nil
}

func (s *Scenario) parseLine(w *words) error {
	switch first := w.Next(); first {
	case "members":
		s.Members = int(w.Number())
	case "groups":
		s.Groups = int(w.Number())
	case "observers":
		s.Observers = int(w.Number())
	case "preferred":
		s.Preferred = int(w.Number())
	case "vouch":
		s.Vouch = w.Duration()
	case "asked":
		s.Asked = w.On()
	case "judged":
		s.Judged = w.On()
	case "beats":
		s.Beats = w.On()
	case "campaigns":
		s.Campaigns = int(w.Number())
	case "uneven":
		s.Uneven = int(w.Number())
	case "duration":
		s.Duration = w.Duration()
	case "delay":
		s.Delay = w.Duration()
	case "tick-every":
		s.Tick = w.Duration()
	case "timing":
		s.Timing = w.timing()
	case "leases":
		s.Leases = w.On()
	case "pre-vote":
		s.NoPreVote = !w.On()
	case "ranks":
		s.NoRanks = !w.On()
	case "first-term":
		s.Term = memberstate.Term(w.Natural(math.MaxUint64))
	case "count-from":
		s.Counters = uint32(w.Natural(math.MaxUint32))
	case "careless":
		w.OneOf(map[string]func(){
			CarelessAlways.String():  func() { s.Careless = CarelessAlways },
			CarelessOverlap.String(): func() { s.Careless = CarelessOverlap },
			Careful.String():         func() { s.Careless = Careful },
		})
	case "heal":
		for w.More() {
			s.Heal = append(s.Heal, w.Node())
		}
		slices.Sort(s.Heal)
	case "at":
		strike := w.strike()
		strike.line = w.Line()
		s.Strikes = append(s.Strikes, strike)
	case "expect":
		e := w.expectation()
		e.line = w.Line()
		s.Expect = append(s.Expect, e)
	default:
		kind, known := choice.KindOf(first)
		if !known {
			return fmt.Errorf("no line begins with %q", first)
		}
		c, v := choice.Read(w.Words, kind)
		if s.lines[c] > 0 && c.Number > 0 {
			return fmt.Errorf("line %d says it already", s.lines[c])
		}
		s.choices[c], s.lines[c] = v, w.Line()
	}
	return nil
}

// words are those of a scenario's line.
type words struct{ *text.Words }

// timing reads what timingText writes.
func (w *words) timing() (t elector.Timing) {
	w.OneOf(map[string]func(){
		"default": func() { t = elector.DefaultTiming() },
		"dledger": func() { t = elector.DLedgerTiming() },
		"heartbeat": func() {
			t.Heartbeat = w.Duration()
			w.OneOf(map[string]func(){"leak": func() { t.Leak = int(w.Number()) }})
			w.OneOf(map[string]func(){"vote-wait": func() { t.MinVoteWait, t.MaxVoteWait = w.Duration(), w.Duration() }})
			w.OneOf(map[string]func(){"round": func() { t.RoundTimeout = w.Duration() }})
			w.OneOf(map[string]func(){"margin": func() { t.DriftMargin = w.Duration() }})
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

// strike reads what follows "at".
func (w *words) strike() Strike {
	s := Strike{At: w.Duration(), Node: nobody, Other: nobody}
	name := w.Next()
	at := slices.IndexFunc(Faults(), func(f Fault) bool { return f.String() == name })
	if at < 0 || faultTable[at].inflict == nil {
		w.Fail("no fault that strikes at a time is called %q", name)
		return s
	}
	s.Fault = Fault(at)
	for w.More() {
		if place, named := w.group(); named {
			s.Group = place
			continue
		}
		switch {
		case w.Has(everyGroup):
			s.Group = EveryGroup
		case w.Has("to"):
			s.Other = w.Node()
		case w.Has("count"):
			s.Count = w.Number()
		case w.Has("by"):
			if s.Count = int64(w.Duration()); !s.Fault.is(countsTime) {
				w.Fail("%v takes a count, not a time", s.Fault)
			}
		case w.Has("links"):
			s.Links = w.Links()
		case w.Has("for"):
			s.Lasts = w.Duration()
		default:
			s.Node = w.Node()
		}
	}
	return s
}

// group takes a group, if one is named.
func (w *words) group() (place int, named bool) {
	if !w.More() {
		return 0, false
	}
	digits, named := strings.CutPrefix(w.Left()[0], "g")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !named || err != nil {
		return 0, false
	}
	w.Next()
	return int(n), true
}
