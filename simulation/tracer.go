// The tracer writes down everything that happens in a run.

package simulation

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// tracer writes a trace. All its methods may be called on nil, and then do nothing.
type tracer struct {
	world   *world
	group   int // the one that is traced
	trace   trace.Trace
	last    []int32 // by node: its newest moment
	armedBy []int32 // by node: the moment that set its alarm
	number  []uint32
	open    []openBands
}

// openBands are the bands of a node that have not ended, as places in Trace.Bands; -1 for none.
type openBands struct{ down, pause, save, lease, office int }

// Trace plays a seed and traces it, as Scenario.Trace does.
func (o Options) Trace() (*trace.Trace, error) {
	s, _, err := Record(o)
	if err != nil {
		return nil, err
	}
	return s.Trace()
}

// Trace plays the scenario and traces the group in which an invariant did not hold, or the
// first one.
func (s *Scenario) Trace() (*trace.Trace, error) {
	t, r, err := s.traced(0)
	if err != nil || r.Violation == nil || r.Violation.Group == 0 {
		return t, err
	}
	return s.TraceGroup(r.Violation.Group)
}

// TraceGroup plays the scenario and traces the group with this index.
func (s *Scenario) TraceGroup(place int) (*trace.Trace, error) {
	t, _, err := s.traced(place)
	return t, err
}

func (s *Scenario) traced(place int) (*trace.Trace, Result, error) {
	w, err := s.world()
	if err != nil {
		return nil, Result{}, err
	}
	if place < 0 || place >= len(w.groups) {
		return nil, Result{}, fmt.Errorf("simulation: there is no g%d", place)
	}
	w.tracer = &tracer{world: w, group: place}
	r := s.play(w)
	t := w.tracer.finish(s, &r)
	return t, r, nil
}

// finish closes what is open, and says how the run ended.
func (t *tracer) finish(s *Scenario, r *Result) *trace.Trace {
	all, w := &t.trace, t.world
	all.Scenario, all.Nodes, all.Voters, all.End = s.String(), len(w.nodes), w.options.Members, time.Duration(w.now)
	if len(w.groups) > 1 {
		all.Group = groupNames[t.group]
	}
	all.Events, all.Elections, all.Virtual, all.Converged = r.Events, r.Elections, r.Virtual, r.Converged
	all.Violation, all.Unmet, all.Tallies = r.Violation, r.Unmet, r.tallies()
	for i := range all.Bands {
		if b := &all.Bands[i]; b.To == 0 || b.To > all.End {
			b.To = all.End
		}
	}
	all.MarkCauses()
	return all
}

// tallies list how often each invariant was checked; and of faults and conditions, how often
// each one struck or was met that did at all.
func (r *Result) tallies() []trace.Tally {
	checked := trace.Tally{Title: "Invariants", Unit: "checked"}
	for _, i := range invariant.All() {
		checked.Counts = append(checked.Counts, trace.Count{Name: i.String(), Times: r.Checked[i]})
	}
	return []trace.Tally{checked, happened("Faults", "struck", Faults(), r.Struck), happened("Conditions", "came about", Conditions(), r.Met)}
}

func happened[K interface {
	comparable
	fmt.Stringer
}](title, unit string, all []K, times map[K]uint64,
) trace.Tally {
	t := trace.Tally{Title: title, Unit: unit}
	for _, k := range all {
		if times[k] > 0 {
			t.Counts = append(t.Counts, trace.Count{Name: k.String(), Times: times[k]})
		}
	}
	return t
}

// traced is the node's member in the group that is traced.
func (t *tracer) traced(n *node) *member { return &n.members[t.group] }

func (t *tracer) now() time.Duration { return time.Duration(t.world.now) }

// node makes room for a node.
func (t *tracer) node(n *node) {
	for len(t.last) <= n.Index {
		t.last, t.armedBy, t.number = append(t.last, -1), append(t.armedBy, -1), append(t.number, 0)
		t.open = append(t.open, openBands{-1, -1, -1, -1, -1})
	}
}

// moment writes down that something happened at a node.
func (t *tracer) moment(n *member, kind trace.MomentKind, what string, passage, cause int32) {
	t.node(n.node)
	t.trace.Moments = append(t.trace.Moments, trace.Moment{
		At: t.now(), Node: n.Index, Kind: kind, What: what, Passage: int(passage), Cause: int(cause),
	})
	t.last[n.Index] = int32(len(t.trace.Moments) - 1)
	t.look(n)
}

// happened writes down something that was done to a process.
func (t *tracer) happened(n *node, kind trace.MomentKind, what string) {
	if t != nil {
		t.moment(t.traced(n), kind, what, -1, -1)
	}
}

// starts writes down that an incarnation begins, in the traced group only.
func (t *tracer) starts(m *member) {
	if t != nil && m.Place == t.group {
		t.moment(m, trace.Started, "starts", -1, -1)
	}
}

// strikes writes down a fault.
func (t *tracer) strikes(s *Strike) {
	if t != nil && s.Node >= 0 && s.concerns(t.group) {
		t.moment(t.traced(&t.world.nodes[s.Node]), trace.Struck, s.String(), -1, -1)
	}
}

// steps writes down an input, as its step begins.
func (t *tracer) steps(n *member, in *protocol.Input) {
	if t == nil || n.Place != t.group {
		return
	}
	t.node(n.node)
	cause, passage := int32(-1), int32(-1)
	switch in.Kind {
	case protocol.Receive:
		if passage, n.hearing = n.hearing[0], n.hearing[1:]; passage >= 0 {
			p := &t.trace.Passages[passage]
			cause, p.HeardBy = int32(p.SentBy), len(t.trace.Moments)
		}
	case protocol.Ring:
		cause = t.armedBy[n.Index]
	default: // the others come from outside
	}
	t.moment(n, trace.Stepped, inputText(in), passage, cause)
}

// stepped writes down the result of a step: the node's state, why the input was ignored, how a round
// ended, and how far a handover is.
func (t *tracer) stepped(n *member, x *protocol.Step) {
	if t == nil || n.Place != t.group {
		return
	}
	t.look(n)
	what := &t.trace.Moments[t.last[n.Index]].What
	if why := x.Output.Dropped; why != 0 {
		*what += fmt.Sprintf(" (ignored: %v)", why)
	}
	if x.Output.Ended {
		*what += fmt.Sprintf(" (its round: %v)", x.Output.Judged)
	}
	if phase := n.phase(); phase != protocol.NoHandover {
		*what += fmt.Sprintf(" (its handover: %v)", phase)
	}
	if t.number[n.Index] != n.Alarm {
		t.number[n.Index], t.armedBy[n.Index] = n.Alarm, t.last[n.Index]
	}
}

// look notes the state of a node in its newest moment, and which of its bands begin and end.
func (t *tracer) look(n *member) {
	m := &t.trace.Moments[t.last[n.Index]]
	m.State = n.state()
	b := &t.open[n.Index]
	t.keep(&b.down, !n.Alive && n.Incarnation > 0, trace.Band{Kind: trace.DownBand, Node: n.Index, What: "down"})
	t.keep(&b.pause, n.Alive && n.Paused, trace.Band{Kind: trace.PauseBand, Node: n.Index, What: "paused"})
	t.keep(&b.save, n.saves(), trace.Band{Kind: trace.SaveBand, Node: n.Index, What: "saves", Term: n.group.State().Term})
	t.keep(&b.lease, n.Lease.Term != 0, trace.Band{Kind: trace.LeaseBand, Node: n.Index, What: "lease", Term: n.Lease.Term})
	t.keep(&b.office, n.engine.Leading != 0, trace.Band{Kind: trace.OfficeBand, Node: n.Index, What: "leads", Term: n.engine.Leading})
	if b.lease >= 0 {
		band := &t.trace.Bands[b.lease]
		lasts := t.now() - band.From
		band.Local = lasts + lasts/1_000_000*time.Duration(n.clock.Rate())
	}
}

// keep begins a band, or ends it, or begins another one for another term.
func (t *tracer) keep(open *int, is bool, b trace.Band) {
	if *open >= 0 && (!is || t.trace.Bands[*open].Term != b.Term) {
		t.over(*open)
		*open = -1
	}
	if is && *open < 0 {
		*open = t.began(b)
	}
}

// state is the member's state now.
func (m *member) state() trace.NodeState {
	g := m.group.Peek()
	asking, accepts := "", 0
	if asks, preVote, accepted := g.Asking(); asks {
		asking, accepts = "vote", accepted.Len()
		if preVote {
			asking = "pre-vote"
		}
	}
	return trace.NodeState{
		Up: m.Alive, Paused: m.Paused, Saving: m.saves(), Incarnation: m.Incarnation,
		Role: g.Role, Term: g.Term, Vote: int(g.Vote) - 1, Leader: int(g.Leader) - 1,
		Durable: m.durable().Term, DurableVote: int(m.durable().Vote) - 1,
		Ledger: m.engine.Ledger.End(), Asking: asking, Accepts: accepts, Serving: m.engine.Leading,
	}
}

// saves and saved are the two ends of a save.
func (t *tracer) saves(n *node) {
	if t != nil {
		t.look(t.traced(n))
	}
}

func (t *tracer) saved(n *node) {
	if t != nil && t.open[n.Index].save >= 0 { // else it is others' save
		t.moment(t.traced(n), trace.SaveDone, "has saved", -1, t.last[n.Index])
	}
}

// posted writes down a message that is sent.
func (t *tracer) posted(p *parcel, again bool) int32 {
	t.node(&t.world.nodes[p.from])
	m := &p.message
	t.trace.Passages = append(t.trace.Passages, trace.Passage{
		From: int(p.from), To: int(p.to), Kind: m.Kind, Mark: m.Mark, Result: m.Result, Term: m.Term, Round: m.Round,
		Sent: t.now(), Again: again, SentBy: int(t.last[p.from]), HeardBy: -1,
	})
	return int32(len(t.trace.Passages) - 1)
}

// ended writes down what became of a message.
func (t *tracer) ended(p *parcel, f trace.Fate) {
	if t == nil || p.passage < 0 {
		return
	}
	passage := &t.trace.Passages[p.passage]
	passage.Fate = f
	if f == trace.Delivered || f == trace.Refused || f == trace.Unanswered {
		passage.Arrived = t.now()
	}
}

// began writes down that something begins to last.
func (t *tracer) began(b trace.Band) int {
	if t == nil {
		return -1
	}
	b.From = t.now()
	t.trace.Bands = append(t.trace.Bands, b)
	return len(t.trace.Bands) - 1
}

// lasts writes down a fault that lasts at its node.
func (t *tracer) lasts(s *Strike) {
	if t != nil && s.concerns(t.group) {
		t.began(trace.Band{Kind: trace.FaultBand, Node: s.Node, To: t.now() + s.Lasts, What: s.Fault.String()})
	}
}

// over writes down that it has ended.
func (t *tracer) over(band int) {
	if t != nil && band >= 0 {
		t.trace.Bands[band].To = max(t.now(), t.trace.Bands[band].From+1)
	}
}

// violated writes down what the run ends with.
func (t *tracer) violated(v *invariant.Violation) {
	if t != nil {
		t.moment(t.traced(&t.world.nodes[v.Node]), trace.Violated, v.Invariant.String()+": "+v.What, -1, -1)
	}
}

var inputNames = map[protocol.InputKind]string{
	protocol.Start: "begins to take part", protocol.Ring: "its alarm rings", protocol.Heard: "learns of an append",
	protocol.Stand: "is ordered to stand", protocol.Transfer: "is ordered to hand over", protocol.Resign: "is ordered to resign",
	protocol.Paused: "has paused its writes", protocol.Abort: "gives up its handover", protocol.Lapsed: "its lease has run out",
	protocol.Served: "its engine stops serving", protocol.Remain: "its order to resign is withdrawn",
}

// inputText is an input in words.
func inputText(in *protocol.Input) string {
	switch m := &in.Message; in.Kind {
	case protocol.Receive:
		return fmt.Sprintf("receives %v from n%d", &trace.Passage{Kind: m.Kind, Mark: m.Mark, Result: m.Result, Term: m.Term}, m.From-1)
	case protocol.PeerLost:
		return fmt.Sprintf("receives a hint that its connection to n%d is lost", in.Seat-1)
	default:
		return inputNames[in.Kind]
	}
}
