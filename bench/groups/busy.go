// One busy group of ours beside quiet ones on the same hosts, against the same group alone.

package groups

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/elector"
)

// Busy is what one group does, in milliseconds.
type Busy struct{ Handover, SlowHandover, Heartbeat, SlowHeartbeat float64 }

// repeatedly is the number of repetitions.
const repeatedly = 3

// handovers is the number of handovers in a repetition.
const handovers = 100

// measureBusy measures one group beside quiet ones, and alone, in turns.
func measureBusy(ctx context.Context, quiet int) ([]figure.Figure, error) {
	rows := []measure.Row[Busy]{
		{Measure: func() (Busy, error) { return busyBeside(ctx, quiet) }},
		{Name: "the group alone", Measure: func() (Busy, error) { return busyBeside(ctx, 0) }},
	}
	for range repeatedly {
		if err := measure.Turn(ctx, rows); err != nil {
			return nil, err
		}
	}
	var figures []figure.Figure
	for _, a := range []struct {
		name string
		of   func(Busy) float64
	}{
		{"a handover, median", func(b Busy) float64 { return b.Handover }},
		{"a handover, p90", func(b Busy) float64 { return b.SlowHandover }},
		{"a heartbeat until a quorum has answered it, median", func(b Busy) float64 { return b.Heartbeat }},
		{"a heartbeat until a quorum has answered it, p90", func(b Busy) float64 { return b.SlowHeartbeat }},
	} {
		f := measure.Compare(Name, fmt.Sprintf("beside %d quiet groups: %s", quiet, a.name), "ms", rows, a.of)
		f.Chart, f.At = "a busy group", f.Name
		figures = append(figures, f)
	}
	return figures, nil
}

// busyBeside makes group 0 hand over again and again, and beat, beside a number of quiet groups.
func busyBeside(ctx context.Context, quiet int) (b Busy, err error) {
	names := Names(1 + quiet)
	heard := &heartbeats{group: names[0]}
	o, err := foundOurs(ctx, names, busy, elector.Metrics{QuorumHeard: heard.add})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := o.rest(ctx); err != nil {
		return b, err
	}
	heard.drop()
	if err := o.Idle(ctx, 3*time.Second); err != nil {
		return b, err
	}
	beats, took := heard.drop(), make([]float64, handovers)
	for i := range took {
		if took[i], err = o.handOver(ctx); err != nil {
			return b, err
		}
	}
	return Busy{measure.Median(took), measure.Quantile(took, 0.9), measure.Median(beats), measure.Quantile(beats, 0.9)}, nil
}

// busy makes group 0 one that beats by itself, and that any member may lead.
func busy(group int, name string) elector.GroupConfig {
	c := plain(group, name)
	if group == 0 {
		c.Preferred, c.Vouch, c.Healthy = nil, Detection, func(context.Context) error { return nil }
	}
	return c
}

// rest waits until group 0 is led, and all others leave their heartbeats to the nodes.
func (o *ours) rest(ctx context.Context) error {
	for {
		before := o.seen.tally()
		if err := o.Idle(ctx, 2*beat); err != nil {
			return err
		}
		all := o.seen.since(before)
		const ofOne = 2 * 2 * (Hosts - 1) // two heartbeats, and their answers
		if all.messages-all.beats <= 2*ofOne && o.seen.Led(0) {
			return nil
		}
	}
}

// handOver makes the leader of group 0 hand over, and returns how long that took.
func (o *ours) handOver(ctx context.Context) (milliseconds float64, err error) {
	if err := await(ctx, func() bool { return o.seen.Led(0) }); err != nil {
		return 0, err
	}
	leader, _ := o.seen.leader(0)
	began := time.Now()
	err = o.groups[leader][0].TransferLeadership(ctx, nodes[(leader+1)%Hosts])
	return 1000 * time.Since(began).Seconds(), err
}

// heartbeats gathers how long a quorum took to answer those of one group, in milliseconds.
type heartbeats struct {
	group string
	mu    sync.Mutex
	took  []float64
}

func (h *heartbeats) add(group string, took time.Duration) {
	if group != h.group {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, 1000*took.Seconds())
}

// drop returns what was gathered, and begins anew.
func (h *heartbeats) drop() []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	took := h.took
	h.took = nil
	return took
}
