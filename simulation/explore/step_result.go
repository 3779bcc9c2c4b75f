// The results of an input to a node: worked out once, and looked up from then on.

package explore

import (
	"slices"
	"sync"

	"github.com/hustings/hustings/simulation/invariant"
)

// stepResult is one effect of an input on a node.
type stepResult struct {
	node        nodeID
	sent        []messageID
	saved       bool
	ended       bool // the round of votes that was under way is over
	hung        bool // LedgerEnd did not return in time, in a search that asks
	outOfBounds bool // out of bounds
	defect      defect
}

// defect is an invariant that does not hold, in words; most steps have none.
type defect struct {
	invariant invariant.Invariant
	what      string
}

func (d *defect) none() bool { return d.what == "" }

// noticed says whether the input has any effect within the bounds.
func (t *stepResult) noticed(before nodeID) bool {
	return !t.defect.none() || !t.outOfBounds && (t.node != before || len(t.sent) > 0 || t.saved)
}

// silent says whether no other node can notice it.
func (t *stepResult) silent() bool {
	return len(t.sent) == 0 && !t.saved && !t.outOfBounds && t.defect.none()
}

// equals says whether another result is the same.
func (t *stepResult) equals(other stepResult) bool {
	return t.node == other.node && t.saved == other.saved && t.ended == other.ended && t.hung == other.hung && t.outOfBounds == other.outOfBounds &&
		t.defect == other.defect && slices.Equal(t.sent, other.sent)
}

// sameResults says whether two inputs have the same results.
func sameResults(all, other []stepResult) bool {
	return slices.EqualFunc(all, other, func(a, b stepResult) bool { return a.equals(b) })
}

// resultsOf returns the results of an input to a node. There are several if they depend on seats or on ability, or
// differ between retry variants. Results of stale messages are cached elsewhere (unprompted.go).
func (m *model) resultsOf(id nodeID, in inputID) []stepResult {
	if m.inputs[in].kind == stale {
		return m.computeResults(id, m.inputs[in])
	}
	if n := len(m.nodes); len(m.steps) < n {
		m.steps = append(m.steps, make([][]uint32, n-len(m.steps))...)
	}
	of, at := &m.steps[id], int(in)
	if in >= m.firstDelivery {
		at = int(m.firstDelivery) + int(m.inputs[in].message)
	}
	if len(*of) <= at {
		*of = append(*of, make([]uint32, int(m.firstDelivery)+len(m.messages)-len(*of))...)
	}
	if (*of)[at] == 0 {
		result := m.resultNumber(id, in, at)
		m.steps[id][at] = result
	}
	return m.results[m.steps[id][at]]
}

// resultNumber returns the number of an input's results, which another worker may have worked out.
func (m *model) resultNumber(id nodeID, in inputID, at int) uint32 {
	known := m.registry.knownResults.find(id, at)
	if known == 0 {
		known = m.registry.knownResults.keep(id, at, m.numberResults(id, m.computeResults(id, m.inputs[in])))
	}
	m.sync()
	return known
}

// numberResults returns the number of results. Most are that nothing happens.
func (m *model) numberResults(id nodeID, all []stepResult) uint32 {
	nothing := len(all) == 1 && !all[0].outOfBounds && !all[0].ended && !all[0].noticed(id)
	at := m.registry.result(id, all, nothing)
	m.sync()
	return at
}

func (m *model) computeResults(id nodeID, in input) []stepResult {
	switch {
	case in.kind == crashes:
		return []stepResult{m.crash(id)}
	case in.kind == writes:
		return []stepResult{m.write(id)}
	case in.kind == delivered && m.messages[in.message].engine:
		return []stepResult{m.receiveAppend(id, m.messages[in.message])}
	case in.kind == alarmRings && m.nodes[id].time.wait > 0, in.kind == leaseExpires && !m.nodes[id].lapsed():
		return []stepResult{{node: id}} // too early
	case (in.kind == stale || m.bounds.Members > 3) && !m.asymmetric(in):
		return m.computeInSeats(id, in, m.renamings[:1])
	}
	return m.computeInSeats(id, in, m.renamings)
}

// computeInSeats works out the results of an input in both retry variants, with the members in each of these seats.
func (m *model) computeInSeats(id nodeID, in input, seats []renaming) []stepResult {
	n := m.nodes[id]
	all := m.runInSeats(&n, id, in, seats)
	if !m.asymmetric(in) {
		seats = seats[:1]
	}
	return m.checkStillServing(id, all, func(n *node) []stepResult { return m.runInSeats(n, id, in, seats) })
}

// runInSeats are the results for a node that probably equals the node guess afterwards.
func (m *model) runInSeats(from *node, guess nodeID, in input, seats []renaming) (all []stepResult) {
	for i, by := range seats {
		n := from.renamed(by)
		abilities := m.abilitiesOf(&n)
		if i > 0 {
			abilities = abilities[:1] // with all of them, every choice that depends on seats has been made
		}
		for _, variant := range m.retryVariants(&n) {
			events := 0
			if i == 0 || m.asymmetric(in) { // otherwise it is the same in all seats
				events = anyEvents
			}
			for _, a := range abilities {
				n.session.Machine = a.in(m, variant)
				for _, t := range m.runStep(&n, guess, by.inverse(), events, func(w *execution) {
					w.stale = in.kind == stale
					given, kind, from := m.given(in, by)
					if kind == alarmRings && w.node.time.wait > 0 || w.stale && !m.couldArrive(w.node, &given.Message) {
						return // it has become impossible by the events before it
					}
					a.said(&given.Message, w.rules().Voters)
					w.apply(given, kind, from)
				}) {
					if !slices.ContainsFunc(all, t.equals) {
						all = append(all, t)
					}
				}
				if len(m.interleaving.choices) > 0 {
					events = min(events, oneEvent) // they have been combined
				}
			}
		}
	}
	return all
}

// runStep is the result of something that happens to a node. If there are to be events while its step waits, up to
// this many, it adds the violation that they show, if there is one, and the result if LedgerEnd hangs.
func (m *model) runStep(n *node, guess nodeID, back renaming, events int, apply func(*execution)) []stepResult {
	w := m.newExecution(n, back)
	w.guess = guess
	m.interleaving.begin(events)
	if events > 0 {
		w.interleaving = &m.interleaving
	}
	apply(w)
	t, waited := w.stepResult(), w.waited
	if events > 0 && t.defect.none() {
		if d := m.checkInterleavings(&m.interleaving, n, back, apply); !d.none() {
			return []stepResult{t, {defect: d}}
		}
	}
	if events > 0 && waited {
		return append([]stepResult{t}, m.hungResult(n, back, events, apply)...)
	}
	return []stepResult{t}
}

// crash restarts a node.
func (m *model) crash(id nodeID) stepResult {
	n := m.nodes[id]
	w := m.newExecution(&n, m.renamings[0])
	w.start()
	return w.stepResult()
}

func (m *model) write(id nodeID) stepResult {
	n := m.nodes[id]
	if n.ledger.len() >= m.bounds.Entries || !n.writes() {
		return stepResult{node: id}
	}
	sent := m.message(n.append())
	return stepResult{node: m.intern(&n), sent: []messageID{sent}, saved: true}
}

func (m *model) receiveAppend(id nodeID, msg message) stepResult {
	if msg.acknowledges() {
		return stepResult{node: id} // it counts as soon as it is sent
	}
	heard := func(n *node) []stepResult {
		return m.runStep(n, noNode, m.renamings[0], anyEvents, func(w *execution) { w.receiveAppend(&msg) })
	}
	n := m.nodes[id]
	all := m.checkStillServing(id, heard(&n), heard)
	return all[len(all)-1]
}

// knownResults are the known results of steps, by node and place, for all workers. Each worker keeps a copy of
// those that it has asked for, because the lock costs time.
type knownResults struct {
	parts [cacheParts]struct {
		mu sync.Mutex
		of [][]uint32 // by node, of those in this part, and place; 0: it is not known
	}
}

// find returns the number of a result, or 0.
func (t *knownResults) find(id nodeID, at int) uint32 {
	p := &t.parts[id%cacheParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := int(id / cacheParts); i < len(p.of) && at < len(p.of[i]) {
		return p.of[i][at]
	}
	return 0
}

// keep keeps a result, unless another worker was faster, and returns the one that is kept.
func (t *knownResults) keep(id nodeID, at int, result uint32) uint32 {
	p, i := &t.parts[id%cacheParts], int(id/cacheParts)
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := i + 1 - len(p.of); n > 0 {
		p.of = append(p.of, make([][]uint32, n)...)
	}
	if n := at + 1 - len(p.of[i]); n > 0 {
		p.of[i] = append(p.of[i], make([]uint32, n)...)
	}
	if p.of[i][at] == 0 {
		p.of[i][at] = result
	}
	return p.of[i][at]
}
