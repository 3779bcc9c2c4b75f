// Messages on their way.

package sample

import (
	"time"

	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation"
)

func (w *world) toAll(from int, p simulation.Passage) {
	for to := range w.nodes {
		if to != from {
			p.From, p.To, p.Round = from, to, w.nodes[from].round
			w.send(p)
		}
	}
}

func (w *world) send(p simulation.Passage) {
	p.Sent, p.SentBy, p.HeardBy = w.now, w.nodes[p.From].last, -1
	w.pass(p)
	if !w.options.Calm && w.random.IntN(60) == 0 {
		p.Again = true
		w.pass(p)
		w.trace.Result.Struck[simulation.Duplicate]++
	}
}

func (w *world) pass(p simulation.Passage) {
	w.trace.Passages = append(w.trace.Passages, p)
	place := len(w.trace.Passages) - 1
	sent := &w.trace.Passages[place]
	switch {
	case w.cut[[2]int{p.From, p.To}] > 0:
		sent.Fate = simulation.Severed
		return
	case !w.options.Calm && w.random.IntN(25) == 0:
		sent.Fate = simulation.Lost
		w.trace.Result.Struck[simulation.Loss]++
		return
	}
	wait := 3*time.Millisecond + w.draw(9*time.Millisecond)
	if p.Again {
		wait += w.draw(60 * time.Millisecond)
	}
	w.after(wait, func() { w.arrive(place) })
}

func (w *world) arrive(place int) {
	p := &w.trace.Passages[place]
	p.Arrived = w.now
	switch n := &w.nodes[p.To]; {
	case !n.Up:
		p.Fate = simulation.Unanswered
	case n.Paused:
		p.Arrived = 0
		w.after(5*time.Millisecond, func() { w.arrive(place) })
	case !w.options.Calm && p.Kind == rpc.VoteResponse && w.random.IntN(40) == 0:
		p.Fate = simulation.Refused
	default:
		p.Fate = simulation.Delivered
		w.hear(place)
	}
}
