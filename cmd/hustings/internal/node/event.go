// Events: the lines that a node prints, one for every change, for people or as JSON.

package node

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Event is a line that a node prints with --json.
type Event struct {
	// Time is the time of day, formatted by TimeOfDay. Measure with AtNanos, because
	// the time of day may jump.
	Time string `json:"time"`
	// Event is "start", "role", "lead" (this node serves from here on), "lease"
	// (no other node can lead until UntilNanos), "handover" (its lease is void, because
	// it is about to hand over), "unlead" (it no longer serves) or "stop".
	Event string `json:"event"`
	// Node and Leader are ids; with a lease in a database they are identities: a
	// readable name, # and a random suffix of the process.
	Node string `json:"node"`
	// Process identifies one incarnation of the node.
	Process string           `json:"process"`
	Group   string           `json:"group"`
	Term    memberstate.Term `json:"term"`
	Role    string           `json:"role,omitempty"`
	Leader  string           `json:"leader,omitempty"`
	// Inability is why the node is not able to lead; empty if it is.
	Inability string `json:"inability,omitempty"`
	Vote      string `json:"vote,omitempty"`
	// AtNanos and UntilNanos are times of the machine's monotonic clock, which all its
	// processes share.
	AtNanos    int64  `json:"at_nanos"`
	UntilNanos int64  `json:"until_nanos,omitempty"`
	Error      string `json:"error,omitempty"`
}

// TimeOfDay is the format of times for people and for scripts: RFC 3339 with milliseconds.
const TimeOfDay = "2006-01-02T15:04:05.000Z07:00"

// Printer prints events. It is safe for concurrent use.
type Printer struct {
	mu   sync.Mutex
	to   io.Writer
	json bool
}

// NewPrinter returns a printer of lines for people, or of JSON lines.
func NewPrinter(to io.Writer, asJSON bool) *Printer { return &Printer{to: to, json: asJSON} }

func (p *Printer) print(e Event) {
	if e.AtNanos == 0 {
		e.AtNanos = monotonic()
	}
	e.Time = time.Now().Format(TimeOfDay)
	text := e.text()
	switch {
	case p.json:
		line, _ := json.Marshal(e) // no field of it can fail
		text = string(line)
	case text == "":
		return
	default:
		text = e.Time + "  " + text
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintln(p.to, text) // the node runs on without its output
}

// text returns the line for people; empty for events that are only for scripts.
func (e *Event) text() string {
	switch e.Event {
	case "start":
		return fmt.Sprintf("%s  takes part in group %s from term %d on", e.Node, e.Group, e.Term)
	case "stop":
		if e.Error != "" {
			return fmt.Sprintf("%s  stopped with an error: %s", e.Node, e.Error)
		}
		return fmt.Sprintf("%s  stopped", e.Node)
	case "role":
		switch {
		case e.Leader == e.Node:
			return fmt.Sprintf("%s  leads term %d%s", e.Node, e.Term, e.able())
		case e.Leader != "":
			return fmt.Sprintf("%s  follows %s in term %d%s", e.Node, e.Leader, e.Term, e.able())
		}
		return fmt.Sprintf("%s  knows no leader in term %d%s", e.Node, e.Term, e.able())
	}
	return ""
}

// able says so if the node is not able to lead.
func (e *Event) able() string {
	if e.Inability == "" {
		return ""
	}
	return " (not able: " + e.Inability + ")"
}

// until converts a time of this process to the clock that all processes share. The result is
// never later than that time, because the shared clock is read first.
func until(t time.Time) int64 {
	now := monotonic()
	return now + int64(time.Until(t))
}
