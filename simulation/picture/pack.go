// This file packs the trace for the script as columns of numbers. Times are in microseconds, each
// as the difference from the previous one, so a hundred thousand moments stay a few megabytes.
// data.js unpacks them.

package picture

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/trace"
)

// packed is the input of data.js.
type packed struct {
	Nodes     int               `json:"nodes"`
	End       int64             `json:"end"`
	Open      [2]int64          `json:"open"`
	Cursor    int               `json:"cursor"`
	Words     []string          `json:"words"`
	Names     map[string]labels `json:"names"`
	Moments   packedMoments     `json:"moments"`
	Passages  packedPassages    `json:"passages"`
	Bands     []packedBand      `json:"bands"`
	Violation *packedViolation  `json:"violation"`
}

// labels are the names of an enumeration, by number.
type labels []string

// packedMoments are columns. Mask has a bit for every field of the state that differs from
// the node's previous state, and Values has the new values of all moments in one row.
type packedMoments struct {
	At      []int64 `json:"at"`
	Node    []int   `json:"node"`
	What    []int   `json:"what"`
	Kind    []int   `json:"kind"`
	Passage []int   `json:"passage"`
	Cause   []int   `json:"cause"` // how many moments before; 0: none
	Past    []int   `json:"past"`  // the places of the moments that led to the violation
	Mask    []int   `json:"mask"`
	Values  []int64 `json:"values"`
}

// packedPassages are columns. Sort is a place in Sorts, Link is from*nodes+to, Travel is the
// time from sending to arrival or -1, and HeardBy is the distance from SentBy or 0.
type packedPassages struct {
	Sorts   [][5]int `json:"sorts"` // kind, mark, result, fate, again
	Sort    []int    `json:"sort"`
	Link    []int    `json:"link"`
	Sent    []int64  `json:"sent"`
	Travel  []int64  `json:"travel"`
	Term    []int64  `json:"term"`
	Round   []int64  `json:"round"`
	SentBy  []int    `json:"sentBy"`
	HeardBy []int    `json:"heardBy"`
}

type packedBand struct {
	Kind  int      `json:"kind"`
	Node  int      `json:"node"`
	Links [][2]int `json:"links"`
	From  int64    `json:"from"`
	To    int64    `json:"to"`
	What  string   `json:"what"`
	Term  int64    `json:"term"`
	Local int64    `json:"local"`
}

type packedViolation struct {
	Invariant string `json:"invariant"`
	At        int64  `json:"at"`
	Node      int    `json:"node"`
	What      string `json:"what"`
	// Entry is the lost entry; empty if there is none. Has lists the nodes that had acknowledged
	// it, Lacks the nodes that do not have it.
	Entry string `json:"entry"`
	Has   []int  `json:"has"`
	Lacks []int  `json:"lacks"`
}

// words gives every text a number.
type words struct {
	list   []string
	places map[string]int
}

func (w *words) place(text string) int {
	at, known := w.places[text]
	if !known {
		at = len(w.list)
		w.places[text], w.list = at, append(w.list, text)
	}
	return at
}

func pack(t *trace.Trace, opens window) packed {
	known := &words{places: map[string]int{}}
	known.place("") // number 0: no round is under way
	p := packed{
		Nodes: t.Nodes, End: micros(length(t)), Open: [2]int64{micros(opens.from), micros(opens.to)}, Cursor: opens.cursor,
		Names: names(), Moments: packMoments(t, known), Passages: packPassages(t), Bands: packBands(t),
	}
	p.Words = known.list
	if v := t.Violation; v != nil {
		p.Violation = &packedViolation{Invariant: v.Invariant.String(), At: micros(v.At), Node: v.Node, What: v.What}
		if l := v.Lost; l != nil {
			p.Violation.Entry, p.Violation.Has, p.Violation.Lacks = l.Entry.String(), append([]int{}, l.Acknowledged...), append([]int{}, l.Missing...)
		}
	}
	return p
}

func packMoments(t *trace.Trace, known *words) packedMoments {
	n := len(t.Moments)
	p := packedMoments{
		make([]int64, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n), []int{}, make([]int, n), []int64{},
	}
	before, at := map[int]fields{}, int64(0)
	for i := range t.Moments {
		m := &t.Moments[i]
		now := micros(m.At)
		p.At[i], at = now-at, now
		p.Node[i], p.What[i], p.Kind[i], p.Passage[i] = m.Node, known.place(m.What), int(m.Kind), m.Passage
		if m.Cause >= 0 {
			p.Cause[i] = i - m.Cause
		}
		if m.Past {
			p.Past = append(p.Past, i)
		}
		state := fieldsOf(&m.State, known)
		for f, value := range state {
			if value != before[m.Node][f] {
				p.Mask[i] |= 1 << f
				p.Values = append(p.Values, value)
			}
		}
		before[m.Node] = state
	}
	return p
}

// fields are a node's state, in the order in which data.js names them.
type fields [15]int64

func fieldsOf(s *trace.NodeState, known *words) fields {
	return fields{
		bit(s.Up), bit(s.Paused), bit(s.Saving), int64(s.Incarnation), int64(s.Role), number(s.Term), int64(s.Vote), int64(s.Leader),
		number(s.Durable), int64(s.DurableVote), number(s.Ledger.Term), int64(s.Ledger.Index),
		int64(known.place(s.Asking)), int64(s.Accepts), number(s.Serving),
	}
}

func packPassages(t *trace.Trace) packedPassages {
	n := len(t.Passages)
	p := packedPassages{
		[][5]int{}, make([]int, n), make([]int, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int, n), make([]int, n),
	}
	sorts := map[[5]int]int{}
	var before trace.Passage
	for i := range t.Passages {
		m := &t.Passages[i]
		sort := [5]int{int(m.Kind), int(m.Mark), int(m.Result), int(m.Fate), int(bit(m.Again))}
		if _, known := sorts[sort]; !known {
			sorts[sort], p.Sorts = len(p.Sorts), append(p.Sorts, sort)
		}
		p.Sort[i], p.Link[i] = sorts[sort], m.From*t.Nodes+m.To
		p.Sent[i], p.Travel[i] = micros(m.Sent)-micros(before.Sent), -1
		if m.Arrived > 0 {
			p.Travel[i] = micros(m.Arrived) - micros(m.Sent)
		}
		p.Term[i], p.Round[i] = number(m.Term)-number(before.Term), int64(m.Round)-int64(before.Round)
		p.SentBy[i] = m.SentBy - before.SentBy
		if m.HeardBy >= 0 {
			p.HeardBy[i] = m.HeardBy - m.SentBy
		}
		before = *m
	}
	return p
}

func packBands(t *trace.Trace) []packedBand {
	all := make([]packedBand, len(t.Bands))
	for i := range t.Bands {
		b := &t.Bands[i]
		links := b.Links
		if links == nil {
			links = [][2]int{}
		}
		all[i] = packedBand{int(b.Kind), b.Node, links, micros(b.From), micros(b.To), b.What, number(b.Term), micros(b.Local)}
	}
	return all
}

// names lists the names of each enumeration by number.
func names() map[string]labels {
	return map[string]labels{
		"kind":   list(int(rpc.TakeLeadershipResponse)+1, func(i uint8) string { return rpc.Kind(i).String() }),
		"mark":   list(int(rpc.Vouched)+1, func(i uint8) string { return rpc.Mark(i).String() }),
		"result": list(int(rpc.NotAble)+1, func(i uint8) string { return rpc.Result(i).String() }),
		"role":   list(int(memberstate.Observer)+1, func(i uint8) string { return memberstate.Role(i).String() }),
		"fate":   list(int(trace.Refused)+1, func(i uint8) string { return trace.Fate(i).String() }),
	}
}

func list(n int, name func(uint8) string) labels {
	all := make(labels, n)
	for i := range all {
		all[i] = name(uint8(i))
	}
	return all
}

func micros(d time.Duration) int64 { return d.Microseconds() }

// number is a term as a number of the script. Terms that are too large for one do not occur.
func number(t memberstate.Term) int64 { return int64(t) }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
