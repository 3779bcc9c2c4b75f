// Package failover measures how long a group has no leader after one dies silently, in virtual
// time, with the same loop for every library.
//
// A trial is contested if more than one member asks for votes in it. Pre-votes do not count,
// because they change nothing at their receivers, so two members that ask at the same time do
// not compete. A trial is split if votes were asked for in a term that got no leader.
package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/adapter/ours"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
	"github.com/hustings/hustings/elector"
)

const name = "failover"

// Section measures failover.
func Section(older *peer.Program) figure.Section {
	return figure.Section{
		Name: name, Title: "Failover in virtual time: from the last heartbeat sent until a majority knows the new leader, in detection times T",
		Configured: []string{
			"The leader has settled, and dies silently right after a heartbeat; disks take no time.",
			"Contested: more than one member asked for votes. Split: a term in which votes were asked for had no leader. Messages: the number of messages until a majority knew the new leader.",
			"Ours: heartbeat T/10, leak 10, vote waits T/10 to T/3, round time-out T/3 (as elector.DefaultTiming), pre-vote and ranks on, no leases.",
			"etcd/raft 3.7 and 3.6: tick and heartbeat T/10, election tick 10, pre-vote, check quorum, a logger that does nothing, MemoryStorage; ticks out of phase, so that of the ten ticks of silence the first may be cut short. For each figure the better version counts.",
			"Without a rule: ours has all rules, and the peer is the same library without that rule; DLedger's setting is elector.DLedgerTiming without pre-vote and ranks, with T = 6 s and heartbeat T/3.",
		},
		Extent:  extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return measureAll(ctx, older, p) },
	}
}

// aspect makes a figure of an outcome.
type aspect struct {
	name, unit string
	of         func(*Outcome) float64
	detail     bool
}

var aspects = []aspect{
	{"mean", "T", func(o *Outcome) float64 { return o.Mean }, false},
	{"p50", "T", func(o *Outcome) float64 { return o.P50 }, true},
	{"p99", "T", func(o *Outcome) float64 { return o.P99 }, false},
	{"max", "T", func(o *Outcome) float64 { return o.Max }, true},
	{"messages", "messages", func(o *Outcome) float64 { return o.Messages }, true},
	{"contested", "% of trials", func(o *Outcome) float64 { return o.Contested }, false},
	{"split", "% of trials", func(o *Outcome) float64 { return o.Split }, true},
}

func (a *aspect) figure(s Scenario, without string, own *Outcomes, peers []named) figure.Figure {
	f := figure.Figure{
		Section: name, Name: s.String() + without + ": " + a.name, Unit: a.unit, Ours: a.of(&own.All), Detail: a.detail,
		Chart: s.kind() + without + ": " + a.name, At: s.shape(),
	}
	var parts [batches]float64
	for i := range parts {
		parts[i] = a.of(&own.Batches[i])
	}
	f.Spread = measure.Spread(parts[:], f.Ours)
	for i := range peers {
		f.Beside(peers[i].name, a.of(&peers[i].outcomes.All))
	}
	return f
}

// named is a peer's outcomes.
type named struct {
	name     string
	outcomes Outcomes
}

// variant is our library with some rules switched off.
type variant struct {
	name    string
	library Library[ours.Message]
}

func oursOf(v ours.Variant) Library[ours.Message] {
	return Library[ours.Message]{Detection: v.Timing.Detection(), Found: v.Found}
}

// variants returns our library without some of its rules.
func variants() []variant {
	without := func(preVote, ranks bool) Library[ours.Message] {
		v := ours.Default(detection)
		v.PreVote, v.Ranks = preVote, ranks
		return oursOf(v)
	}
	return []variant{
		{"without ranks (D12)", without(true, false)},
		{"without pre-vote (D4)", without(false, true)},
		{"without either", without(false, false)},
		{"DLedger's setting", oursOf(ours.Variant{Timing: elector.DLedgerTiming()})},
	}
}

// trials returns the number of trials of each scenario, for each library.
func trials(p figure.Plan) int {
	if p.Quick {
		return 100
	}
	return 10_000
}

func extent(p figure.Plan) string {
	return fmt.Sprintf("In one pass, %d trials of each scenario for each library, and figures are over all of them; the spread is that of %d batches.", trials(p), batches)
}

func measureAll(ctx context.Context, older *peer.Program, p figure.Plan) ([]figure.Figure, error) {
	child, err := older.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // all its results have been read
	m := &measurement{ctx: ctx, child: child, trials: trials(p)}
	scenarios := Scenarios()
	for i, s := range scenarios {
		p.Progress(s.String(), float64(i)/float64(len(scenarios)))
		if err := m.scenario(s); err != nil {
			return m.figures, measure.UnlessOver(ctx, err)
		}
	}
	return m.figures, nil
}

type measurement struct {
	ctx     context.Context
	child   *peer.Child
	trials  int
	figures []figure.Figure
}

// scenario measures one scenario, for all libraries.
func (m *measurement) scenario(s Scenario) error {
	own, err := m.ours(oursOf(ours.Default(detection)), s)
	if err != nil {
		return err
	}
	peers, err := m.peers(s)
	if err != nil {
		return err
	}
	for _, a := range aspects {
		m.figures = append(m.figures, a.figure(s, "", &own, peers))
	}
	if s.Dead || s.Behind || s.Loss > 0 {
		return nil
	}
	for _, v := range variants() {
		other, err := m.ours(v.library, s)
		if err != nil {
			return err
		}
		for _, a := range aspects {
			f := a.figure(s, ", "+v.name, &own, []named{{"ours, " + v.name, other}})
			f.Detail = a.name != "mean"
			m.figures = append(m.figures, f)
		}
	}
	return nil
}

func (m *measurement) ours(library Library[ours.Message], s Scenario) (Outcomes, error) {
	return repeatTrials(m.ctx, library, s, m.trials, processors())
}

// peers measures both versions at the same time, in a process each.
func (m *measurement) peers(s Scenario) ([]named, error) {
	task := Task{Scenario: s, Trials: m.trials}
	var newer, older Outcomes
	var newerErr, olderErr error
	var both sync.WaitGroup
	both.Go(func() { newer, newerErr = Etcd(m.ctx, task) })
	both.Go(func() { older, olderErr = peer.Do[Outcomes](m.child, name, task) })
	both.Wait()
	return []named{{etcd.Newer, newer}, {etcd.Older, older}}, errors.Join(newerErr, olderErr)
}

// detection is T, in virtual time.
const detection = time.Second
