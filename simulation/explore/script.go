// Scripts: what happens to the members of a group that begins anew, one thing after the
// other, as text.
//
//	explored
//	members 3
//	1 n0 alarm      # its alarm rings
//	2 n1 hears 1    # VOTE_REQUEST from n0 in term 1
//	3 n0 hears 2
//	expect violation won by a quorum
//
// What was said in a step is named by that step's number; "hears 4/2" is the second thing
// that was said in the fourth.

package explore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hustings/hustings/simulation"
)

// ScriptHead is the first word of a script's text, by which it is told from a scenario.
const ScriptHead = "explored"

// Script is a way that machines can be led, step by step.
type Script struct {
	members, leak     int
	noPreVote, leases bool
	acts              []act
	breaks            *simulation.Invariant // what does not hold in the end
}

// act is one thing that happens to one node, or that time passes.
type act struct {
	kind    inputKind
	node    int
	other   int       // of a transfer, or of a lost connection
	heard   utterance // delivered
	missing int       // whose clocks miss it, if time passes
}

// utterance is something that was said: in which step, and in what place there, both from 1.
type utterance struct{ step, nth int }

// words are how a script has what happens.
var words = map[inputKind]string{
	rings: "alarm", crashes: "crashes", delivered: "hears", writes: "writes", stands: "stands", handsOver: "hands-over-to",
	resigns: "resigns", callsOff: "calls-off", stays: "stays", loses: "loses", lapses: "lapses", returns: "returns", passes: "tick",
}

// Expects says whether the script is about a violation of an invariant.
func (s *Script) Expects(i simulation.Invariant) bool { return s.breaks != nil && *s.breaks == i }

// bounds are those that the script can be played in.
func (s *Script) bounds() Bounds {
	return Bounds{Members: s.members, Terms: mostTerms, Beats: mostBeats, Leak: s.leak, Entries: mostEntries, NoPreVote: s.noPreVote, Leases: s.leases, Withdrawals: true}
}

// String is the script's text, which ParseScript reads.
func (s *Script) String() string { return s.text(nil) }

// text is the script's text, with what the steps are as remarks.
func (s *Script) text(steps []Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmembers %d\n", ScriptHead, s.members)
	if s.leak > 0 {
		fmt.Fprintf(&b, "leak %d\n", s.leak)
	}
	if s.noPreVote {
		b.WriteString("pre-vote off\n")
	}
	if s.leases {
		b.WriteString("leases on\n")
	}
	for i := range s.acts {
		line := fmt.Sprintf("%d %v", i+1, &s.acts[i])
		if i < len(steps) {
			line = fmt.Sprintf("%-24s # %s", line, steps[i].What)
		}
		b.WriteString(line + "\n")
	}
	if s.breaks != nil {
		fmt.Fprintf(&b, "expect violation %v\n", *s.breaks)
	}
	return b.String()
}

// String is the act's line, without its number.
func (a *act) String() string {
	line := words[a.kind]
	if a.kind != passes {
		line = fmt.Sprintf("n%d %s", a.node, line)
	}
	switch {
	case a.kind == delivered && a.heard.nth > 1:
		return fmt.Sprintf("%s %d/%d", line, a.heard.step, a.heard.nth)
	case a.kind == delivered:
		return fmt.Sprintf("%s %d", line, a.heard.step)
	case a.kind == handsOver || a.kind == loses:
		return fmt.Sprintf("%s n%d", line, a.other)
	case a.kind == passes && a.missing != 0:
		line += " without"
		for i := range mostMembers {
			if a.missing>>i&1 == 1 {
				line += fmt.Sprintf(" n%d", i)
			}
		}
	}
	return line
}

// ParseScript reads a script's text. What stands behind a # says nothing. The error names
// the line.
func ParseScript(r io.Reader) (*Script, error) {
	s := &Script{}
	lines, headed := bufio.NewScanner(r), false
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		var err error
		switch {
		case len(fields) == 0:
		case headed:
			err = s.parseLine(fields)
		case !slices.Equal(fields, []string{ScriptHead}):
			err = fmt.Errorf("want %q before all else", ScriptHead)
		default:
			headed = true
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", number, strings.TrimSpace(line), err)
		}
	}
	if s.members == 0 {
		return nil, errors.Join(lines.Err(), errors.New("it does not say how many members there are"))
	}
	return s, lines.Err()
}

func (s *Script) parseLine(fields []string) (err error) {
	switch line := strings.Join(fields, " "); {
	case fields[0] == "members" && len(fields) == 2:
		s.members, err = strconv.Atoi(fields[1])
		return errors.Join(err, within("members", s.members, 1, mostMembers))
	case fields[0] == "leak" && len(fields) == 2:
		s.leak, err = strconv.Atoi(fields[1])
		return errors.Join(err, within("leak", s.leak, 1, mostLeak))
	case line == "pre-vote off":
		s.noPreVote = true
	case line == "leases on":
		s.leases = true
	case strings.HasPrefix(line, "expect violation "):
		return s.parseExpectation(strings.TrimPrefix(line, "expect violation "))
	default:
		a, err := parseAct(fields, len(s.acts)+1)
		s.acts = append(s.acts, a)
		return err
	}
	return nil
}

func (s *Script) parseExpectation(name string) error {
	all := simulation.Invariants()
	at := slices.IndexFunc(all, func(i simulation.Invariant) bool { return i.String() == name })
	if at < 0 {
		return fmt.Errorf("no invariant is called %q", name)
	}
	s.breaks = &all[at]
	return nil
}

// parseAct reads the line of the step that has this number.
func parseAct(fields []string, number int) (a act, err error) {
	if n, err := strconv.Atoi(fields[0]); err != nil || n != number {
		return a, fmt.Errorf("this must be step %d", number)
	}
	fields = fields[1:]
	ofNode := len(fields) > 0 && fields[0] != words[passes]
	if ofNode {
		if a.node, err = parseNode(fields[0]); err != nil {
			return a, err
		}
		fields = fields[1:]
	}
	if len(fields) == 0 {
		return a, errors.New("it does not say what happens")
	}
	for kind, word := range words {
		if word == fields[0] && ofNode != (kind == passes) {
			a.kind = kind
		}
	}
	err = a.parseRest(fields[0], fields[1:])
	return a, err
}

// parseRest reads what follows the word for what happens.
func (a *act) parseRest(word string, rest []string) (err error) {
	switch {
	case a.kind == none:
		return fmt.Errorf("what is %q?", word)
	case a.kind == passes && len(rest) > 1 && rest[0] == "without":
		for _, name := range rest[1:] {
			node, err := parseNode(name)
			if err != nil {
				return err
			}
			a.missing |= 1 << node
		}
	case (a.kind == handsOver || a.kind == loses) && len(rest) == 1:
		a.other, err = parseNode(rest[0])
	case a.kind == delivered && len(rest) == 1:
		a.heard, err = parseUtterance(rest[0])
	case a.kind == handsOver || a.kind == loses || a.kind == delivered || len(rest) > 0:
		return fmt.Errorf("what follows %q is not understood", word)
	}
	return err
}

func parseNode(name string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil || !strings.HasPrefix(name, "n") || n < 0 || n >= mostMembers {
		return 0, fmt.Errorf("%q is no node, want n0 to n%d", name, mostMembers-1)
	}
	return n, nil
}

func parseUtterance(name string) (u utterance, err error) {
	step, nth, several := strings.Cut(name, "/")
	if u.nth = 1; several {
		u.nth, err = strconv.Atoi(nth)
	}
	var failed error
	u.step, failed = strconv.Atoi(step)
	if err != nil || failed != nil || u.step < 1 || u.nth < 1 {
		return u, fmt.Errorf("%q is no step, want a number such as 4, or 4/2", name)
	}
	return u, nil
}
