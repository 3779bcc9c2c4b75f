// Scripts: what happens to the members of a new group, step by step, as text.
//
//	explored
//	members 3
//	1 n0 alarm      # its alarm rings
//	2 n1 hears 1    # VOTE_REQUEST from n0 in term 1
//	3 n0 hears 2
//	expect violation won by a quorum
//
// A message is named by the step that sent it; "hears 4/2" delivers the second message of the
// fourth step. "hears 4 in-vain" is a step of a leader that waits for the end of the ledger, and
// LedgerEnd does not return in time.
//
// A scenario of the simulator names members and what is expected in the same words, but says at which times something
// strikes, and from these times everything else follows. The explorer has no times: here every step is listed, and
// every message that arrives, of all that were ever sent. So scripts have a grammar of their own.

package explore

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hustings/hustings/simulation/internal/text"
	"github.com/hustings/hustings/simulation/invariant"
)

// ScriptHead is the first word of a script's text, which tells it from a scenario.
const ScriptHead = "explored"

// Script is a sequence of steps for plain machines.
type Script struct {
	members, leak     int
	noPreVote, leases bool
	pauses            bool // engines take their time to pause
	acts              []act
	breaks            *invariant.Invariant // the one that does not hold in the end
}

// act is something that happens to one node, or a tick of all clocks.
type act struct {
	kind    inputKind
	node    int
	other   int        // of a transfer, or of a lost connection
	message messageRef // delivered
	inVain  bool       // its step waits for a LedgerEnd that hangs
	missing int        // the nodes whose clocks miss it, for a tick
	line    int        // of a text; 0: none
}

// messageRef is a message by the step that sent it, and its place there, both from 1.
type messageRef struct{ step, nth int }

// words are the script's words for what happens.
var words = map[inputKind]string{
	alarmRings: "alarm", crashes: "crashes", delivered: "hears", writes: "writes", stands: "stands", handsOver: "hands-over-to",
	resigns: "resigns", withdrawsTransfer: "calls-off", withdrawsResignation: "stays", losesConnection: "loses", leaseExpires: "lapses", leadReturns: "returns", pauseDone: "pauses", pauseFails: "fails-to-pause",
	latePauseDone: "paused-earlier", clockTicks: "tick", isAble: "is-able", isUnwell: "is-unwell", hangs: "hangs", recovers: "recovers",
}

// Expects says whether the script is about a violation of an invariant.
func (s *Script) Expects(i invariant.Invariant) bool { return s.breaks != nil && *s.breaks == i }

// bounds are the widest that a script may need.
func (s *Script) bounds() Bounds {
	return Bounds{Members: s.members, Terms: mostTerms, Beats: mostBeats, Leak: s.leak, Entries: mostEntries, NoPreVote: s.noPreVote, Leases: s.leases, Withdrawals: true, Pauses: s.pauses, Ability: true}
}

// String is the script's text, which ParseScript reads.
func (s *Script) String() string { return s.text(nil) }

// text is the script's text, with descriptions of the steps as comments.
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
	if s.pauses {
		b.WriteString("pauses on\n")
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
	if a.inVain {
		return a.event() + " in-vain"
	}
	return a.event()
}

// event is that without the word for a LedgerEnd that hangs.
func (a *act) event() string {
	line := words[a.kind]
	if a.kind != clockTicks {
		line = fmt.Sprintf("n%d %s", a.node, line)
	}
	switch {
	case a.kind == delivered && a.message.nth > 1:
		return fmt.Sprintf("%s %d/%d", line, a.message.step, a.message.nth)
	case a.kind == delivered:
		return fmt.Sprintf("%s %d", line, a.message.step)
	case a.kind == handsOver || a.kind == losesConnection:
		return fmt.Sprintf("%s n%d", line, a.other)
	case a.kind == clockTicks && a.missing != 0:
		line += " without"
		for i := range mostMembers {
			if a.missing>>i&1 == 1 {
				line += fmt.Sprintf(" n%d", i)
			}
		}
	}
	return line
}

// ParseScript reads a script's text. It is like that of a scenario under another heading: in place of a time
// there is the number of a step, and each event is one member's. Faults of a network have no meaning here,
// because each message is delivered by a step of its own. The error names the line.
func ParseScript(r io.Reader) (*Script, error) {
	s, headed := &Script{}, false
	_, err := text.Read(r, func(w *text.Words) error {
		if !headed && !w.Has(ScriptHead) {
			return fmt.Errorf("want %q before all else", ScriptHead)
		}
		if !headed {
			headed = true
			return nil
		}
		return s.parseLine(w)
	})
	if err == nil && s.members == 0 {
		err = errors.New("the number of members is missing")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Script) parseLine(w *text.Words) error {
	switch {
	case w.Has("members"):
		s.members = int(w.Number())
		return within("members", s.members, 1, mostMembers)
	case w.Has("leak"):
		s.leak = int(w.Number())
		return within("leak", s.leak, 1, mostLeak)
	case w.Has("pre-vote"):
		s.noPreVote = !w.On()
	case w.Has("leases"):
		s.leases = w.On()
	case w.Has("pauses"):
		s.pauses = w.On()
	case w.Has("expect"):
		w.OneOf(map[string]func(){"violation": func() { breaks := w.Violation(); s.breaks = &breaks }})
	default:
		if !w.Has(strconv.Itoa(len(s.acts) + 1)) {
			return fmt.Errorf("this must be step %d", len(s.acts)+1)
		}
		a := act{line: w.Line()}
		a.parse(w)
		s.acts = append(s.acts, a)
	}
	return nil
}

// parse reads what happens in a step.
func (a *act) parse(w *text.Words) {
	ofNode := !w.Has(words[clockTicks])
	if !ofNode {
		a.kind = clockTicks
		if w.Has("without") {
			for more := true; more; more = w.More() {
				a.missing |= 1 << parseNode(w)
			}
		}
		return
	}
	a.node = parseNode(w)
	word := w.Next()
	for kind, known := range words {
		if known == word && kind != clockTicks {
			a.kind = kind
		}
	}
	switch a.kind {
	case none:
		w.Fail("no event is called %q", word)
	case handsOver, losesConnection:
		a.other = parseNode(w)
	case delivered:
		a.message = parseMessageRef(w)
	default: // nothing more
	}
	a.inVain = w.Has("in-vain")
}

func parseNode(w *text.Words) int {
	n := w.Node()
	if n >= mostMembers {
		w.Fail("there is no n%d, want n0 to n%d", n, mostMembers-1)
		return 0
	}
	return n
}

func parseMessageRef(w *text.Words) (u messageRef) {
	name := w.Next()
	step, nth, several := strings.Cut(name, "/")
	var err, failed error
	if u.nth = 1; several {
		u.nth, err = strconv.Atoi(nth)
	}
	u.step, failed = strconv.Atoi(step)
	if err != nil || failed != nil || u.step < 1 || u.nth < 1 {
		w.Fail("%q is no step, want a number such as 4, or 4/2", name)
	}
	return u
}
