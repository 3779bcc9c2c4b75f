// Package drain measures taking one node of three out of service: how fast it hands over all groups that it leads, for how long
// nobody takes the writes of a group that moves, and who leads afterwards. Both libraries run in virtual
// time, over the same links and disks.
package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

// Name is the section's, and its job's.
const Name = "drain"

// Section measures drains. The program is bubble.
func Section(bubble *peer.Program) figure.Section {
	return figure.Section{
		Name: Name, Title: "One node of three is taken out of service, and another one after it",
		Configured: []string{
			"Three nodes in one process, each with a member of every group, and leading a third of them. Node n2 is drained; it serves again for a minute; then n0 is drained. Groups are idle, and ledgers empty. In virtual time (testing/synctest) a message takes the given time one way, a batch of saves the other, and what nodes compute takes none: that is shown as CPU time. Real time: the same links and disks, and whatever the machine takes.",
			"Moves/s: the groups that have moved, divided by the time from the order until the last of them is led. Gap: from when the old leader is asked to take no more writes until the new one leads, exactly, for each group that has moved; a second attempt before another one leads is the same gap. CPU time: of all nodes, from the order until the node leads nothing, heartbeats included. Load: the groups of the most loaded node that serves, divided by the mean of those that serve.",
			"Ours: a Host a node, Host.Drain, which hands over 128 groups at a time; a heartbeat of 100 ms, leak 10, pre-vote and ranks on, no leases, beats between nodes, no Preferred unless said otherwise. The gap is from the call of Pause at the old leader until the call of Lead at the new one. Drain returns a heartbeat after the last group has moved.",
			"etcd/raft 3.7: a RawNode a member, ticks of 100 ms, heartbeat tick 1, election tick 10, CheckQuorum, PreVote, a logger that does nothing. One loop a node takes everything that waits; the disk saves what has gathered from all groups, a batch at a time, while the loop goes on with the others; a leader sends while it saves. MsgTransferLeader for each group, to the two others in turn; the next one as soon as a member leads no more, 128 at a time. The gap is from MsgTransferLeader, from when on the leader drops proposals, until another member leads. It has no call for a node, nothing that keeps leaders away from it, and nothing that brings them back. As its ticks cost much, only 100 ms pass between the drains. 3.6 is not measured.",
		},
		Extent: extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
			return measureAll(ctx, bubble, p)
		},
	}
}

// stage is what both sides are measured in.
type stage struct {
	task  Task
	main  bool   // some of its figures are in the printed table
	alone string // the side that is measured alone; empty: ours, and the peer
}

// The conditions, of which each delay is measured with each duration of saves.
var (
	delays = []time.Duration{0, 500 * time.Microsecond, 5 * time.Millisecond}
	saves  = []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}
)

const (
	usualDelay = 500 * time.Microsecond
	usualSave  = 2 * time.Millisecond
	// peerInReal is how many groups both are measured with in real time: of many more, the peer cannot do all ticks in time with two
	// processors.
	peerInReal = 3000
)

// stages returns what is measured by a plan.
func stages(p figure.Plan) (all []stage) {
	usual := func(groups int) Task { return Task{Groups: groups, Delay: usualDelay, Save: usualSave} }
	if p.Quick {
		return []stage{{task: usual(300), main: true}}
	}
	for _, groups := range []int{3000, 30_000} {
		for _, delay := range delays {
			for _, save := range saves {
				all = append(all, stage{task: Task{Groups: groups, Delay: delay, Save: save}, main: groups == 30_000})
			}
		}
	}
	inReal := func(groups int) Task {
		t := usual(groups)
		t.Real = true
		return t
	}
	all = append(
		all,
		stage{task: usual(30_000), alone: ownPreferred},
		stage{task: inReal(peerInReal), main: true},
		stage{task: inReal(30_000), main: true, alone: own},
	)
	if p.Long {
		all = append(all, stage{task: usual(100_000), main: true})
	}
	return all
}

func extent(p figure.Plan) string {
	var parts []string
	for _, s := range stages(p) {
		if text := s.size(); len(parts) == 0 || parts[len(parts)-1] != text {
			parts = append(parts, text)
		}
	}
	return "Once each, one library after the other, of each size in turn: " + strings.Join(parts, ", ") + ". A third of them move at first."
}

// size names the number of groups.
func (s *stage) size() string {
	text := fmt.Sprintf("%d groups", s.task.Groups)
	if s.alone != "" {
		text += " (" + s.alone + ")"
	}
	if s.task.Real {
		text += " in real time"
	}
	return text
}

// at names a stage.
func (s *stage) at() string {
	text := fmt.Sprintf("%d of %d groups, messages %v, saves %v", s.task.Groups/hosts, s.task.Groups, s.task.Delay, s.task.Save)
	if s.task.Real {
		text += ", real time"
	}
	if s.alone == ownPreferred {
		text += ", with Preferred"
	}
	return text
}

func measureAll(ctx context.Context, bubble *peer.Program, p figure.Plan) (figures []figure.Figure, err error) {
	all := stages(p)
	for i := range all {
		s := &all[i]
		p.Progress(s.at(), float64(i)/float64(len(all)))
		rows := s.rows(ctx, bubble)
		if err := measure.Turn(ctx, rows); err != nil {
			return figures, measure.UnlessOver(ctx, err)
		}
		figures = append(figures, figuresOf(s, rows)...)
	}
	return figures, nil
}

// rows are ours and, unless it is about ours alone, the peer.
func (s *stage) rows(ctx context.Context, bubble *peer.Program) []measure.Row[Outcome] {
	do := func(side string) func() (Outcome, error) {
		task := s.task
		task.Side = side
		return func() (Outcome, error) {
			child, err := bubble.Start(ctx)
			if err != nil {
				return Outcome{}, err
			}
			o, err := peer.Do[Outcome](child, Name, task)
			return o, errors.Join(err, child.Close())
		}
	}
	if s.alone != "" {
		return []measure.Row[Outcome]{{Measure: do(s.alone)}}
	}
	return []measure.Row[Outcome]{{Measure: do(own)}, {Name: newer, Measure: do(newer)}}
}

// aspect is one figure of an outcome.
type aspect struct {
	name, unit string
	of         func(*Outcome) float64
	main       bool
	own        bool // only our library has it
}

// ofFirst makes an aspect of the first drain, ofSecond of the second.
func ofFirst(of func(*Drain) float64) func(*Outcome) float64 {
	return func(o *Outcome) float64 { return of(&o.First) }
}

func ofSecond(of func(*Drain) float64) func(*Outcome) float64 {
	return func(o *Outcome) float64 { return of(&o.Second) }
}

func moves(d *Drain) float64     { return d.Moved / max(d.Seconds, 1e-9) }
func p99(d *Drain) float64       { return d.P99 }
func disturbed(d *Drain) float64 { return d.Disturbed }
func load(d *Drain) float64      { return d.Load }

const (
	rate  = "moves/s"
	count = "groups"
	share = "of the mean"
)

var aspects = []aspect{
	{"moves", rate, ofFirst(moves), true, false},
	{"gap, p50", "ms", ofFirst(func(d *Drain) float64 { return d.P50 }), false, false},
	{"gap, p99", "ms", ofFirst(p99), true, false},
	{"gap, longest", "ms", ofFirst(func(d *Drain) float64 { return d.Longest }), false, false},
	{"CPU time of a move", "CPU µs", ofFirst(func(d *Drain) float64 { return 1e6 * d.CPU / max(d.Moved, 1) }), true, false},
	{"until the last group is led", "s", ofFirst(func(d *Drain) float64 { return d.Seconds }), false, false},
	{"until Drain returns", "s", ofFirst(func(d *Drain) float64 { return d.Returned }), false, true},
	{"groups that were not moved", count, ofFirst(func(d *Drain) float64 { return d.Left }), false, false},
	{"groups that paused more than once", count, ofFirst(func(d *Drain) float64 { return d.Again }), false, false},
	{"groups of other nodes that paused or got another term", count, ofFirst(disturbed), false, false},
	{"load of the most loaded that serves", share, ofFirst(load), false, false},
	{"load of the most loaded, a minute after the node serves again", share, func(o *Outcome) float64 { return o.LoadAfter }, false, true},
	{"groups that have come back a minute after the node serves again", count, func(o *Outcome) float64 { return o.Back }, false, true},
	{"the second drain: moves", rate, ofSecond(moves), false, false},
	{"the second drain: gap, p99", "ms", ofSecond(p99), false, false},
	{"the second drain: groups of other nodes that paused or got another term", count, ofSecond(disturbed), false, false},
	{"the second drain: load of the most loaded that serves", share, ofSecond(load), false, false},
}

// figuresOf makes the figures of one stage. In virtual time without delays and saves, nothing takes time.
func figuresOf(s *stage, rows []measure.Row[Outcome]) (figures []figure.Figure) {
	for i := range aspects {
		a := &aspects[i]
		if a.unit == rate && !s.task.Real && s.task.Delay == 0 && s.task.Save == 0 {
			continue
		}
		those := rows
		if a.own {
			those = rows[:1]
		}
		f := measure.Compare(Name, s.at()+": "+a.name, a.unit, those, func(o Outcome) float64 { return a.of(&o) })
		f.Chart, f.At, f.Detail = a.name, s.at(), !s.main || !a.main
		figures = append(figures, f)
	}
	return figures
}
