// What goes wrong, and the violation.

package sample

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation"
)

// strike lets something go wrong every other second.
func (w *world) strike() {
	victim := w.random.IntN(w.options.Nodes)
	switch w.random.IntN(5) {
	case 0:
		w.isolate(victim)
	case 1:
		w.crash(victim)
	case 2:
		w.pause(victim)
	case 3:
		w.oneWay(victim, (victim+1)%w.options.Nodes)
	case 4:
		w.transfer()
	}
	w.after(time.Second+w.draw(2*time.Second), w.strike)
}

func (w *world) isolate(victim int) {
	var links [][2]int
	for i := range w.nodes {
		if i != victim {
			links = append(links, [2]int{victim, i}, [2]int{i, victim})
		}
	}
	w.sever(simulation.Isolation, links)
}

func (w *world) oneWay(from, to int) { w.sever(simulation.OneWayCut, [][2]int{{from, to}}) }

func (w *world) sever(fault simulation.Fault, links [][2]int) {
	w.trace.Result.Struck[fault]++
	band := w.band(simulation.Band{Kind: simulation.FaultBand, Node: -1, Links: links, What: fault.String()})
	for _, l := range links {
		w.cut[l]++
	}
	w.after(400*time.Millisecond+w.draw(time.Second), func() {
		w.ends(&band)
		for _, l := range links {
			w.cut[l]--
		}
	})
}

func (w *world) crash(victim int) {
	n := &w.nodes[victim]
	if !n.Up {
		return
	}
	w.trace.Result.Struck[simulation.Crash]++
	w.stepDown(victim)
	n.Up, n.Saving = false, false
	n.Term, n.Vote = n.Durable, n.DurableVote
	w.moment(victim, simulation.Crashed, -1, -1, "crashes")
	band := w.band(simulation.Band{Kind: simulation.DownBand, Node: victim, What: "down"})
	w.after(300*time.Millisecond+w.draw(time.Second), func() {
		w.ends(&band)
		w.start(victim)
	})
}

func (w *world) pause(victim int) {
	n := &w.nodes[victim]
	if !n.Up || n.Paused {
		return
	}
	w.trace.Result.Struck[simulation.Pause]++
	n.Paused = true
	w.moment(victim, simulation.PauseBegan, -1, -1, "stands still")
	band, incarnation := w.band(simulation.Band{Kind: simulation.PauseBand, Node: victim, What: "pause"}), n.Incarnation
	w.after(200*time.Millisecond+w.draw(500*time.Millisecond), func() {
		w.ends(&band)
		if n.Up && n.Incarnation == incarnation {
			n.Paused = false
			w.moment(victim, simulation.PauseEnded, -1, -1, "goes on")
		}
	})
}

// transfer hands an office over to the next voter.
func (w *world) transfer() {
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.Role == memberstate.Leader && n.Up && !n.Paused {
			w.trace.Result.Struck[simulation.Transfer]++
			w.trace.Result.Met[simulation.HandedOver]++
			w.moment(i, simulation.Struck, -1, -1, "is told to hand over to n%d", (i+1)%w.voters())
			w.send(simulation.Passage{From: i, To: (i + 1) % w.voters(), Kind: rpc.TakeLeadership, Term: n.Term})
			return
		}
	}
}

// usurp lets a node win the very term in which another one leads: voters give their
// vote again, which no voter may.
func (w *world) usurp() {
	leader := -1
	for i := range w.nodes {
		if n := &w.nodes[i]; n.Role == memberstate.Leader && n.Up && !n.Paused {
			leader = i
		}
	}
	usurper := (leader + 2) % w.voters()
	if n := &w.nodes[usurper]; leader < 0 || !n.Up || n.Asking != "" || n.Term != w.nodes[leader].Term {
		return
	}
	n := &w.nodes[usurper]
	n.Role, n.Leader, n.Asking, n.Accepts, n.Vote = memberstate.Candidate, -1, "vote", 1, usurper
	n.round++
	n.alarm = w.moment(usurper, simulation.Stepped, n.alarm, -1, "stands in term %d, which it had begun before", n.Term)
	answer := simulation.Passage{Kind: rpc.VoteResponse, Result: rpc.Accept, Term: n.Term, Round: n.round, To: usurper, SentBy: -1, HeardBy: -1}
	for voter := range w.voters() {
		if voter != usurper && voter != leader && n.Accepts < w.voters()/2+1 {
			w.betray(voter, answer)
		}
	}
	n.Role, n.Leader, n.Asking, n.Serving = memberstate.Leader, usurper, "", n.Term
	w.amend(usurper)
	w.violated(usurper, leader)
}

// betray is a vote given twice, in one go.
func (w *world) betray(voter int, answer simulation.Passage) {
	n := &w.nodes[answer.To]
	request := answer
	request.From, request.To, request.Kind, request.Result = answer.To, voter, rpc.VoteRequest, 0
	w.carry(request, "vote request")
	answer.From = voter
	n.Accepts++
	w.carry(answer, "vote answer")
}

func (w *world) carry(p simulation.Passage, what string) {
	p.Sent, p.SentBy, p.Fate = w.now, w.nodes[p.From].last, simulation.Delivered
	w.now += 6 * time.Millisecond
	p.Arrived = w.now
	w.trace.Passages = append(w.trace.Passages, p)
	w.heard(len(w.trace.Passages)-1, what)
}

// violated ends the run, and marks what led to it.
func (w *world) violated(usurper, leader int) {
	n := &w.nodes[usurper]
	at := w.moment(usurper, simulation.Violated, n.last, -1, "leads term %d: one leader a term is violated", n.Term)
	w.trace.Result.Violation = &simulation.Violation{
		Invariant: simulation.OneLeader, At: w.now, Node: usurper,
		What: fmt.Sprintf("term %d was led by n%d, incarnation %d", n.Term, leader, w.nodes[leader].Incarnation),
	}
	w.past(at, 9)
}

// past marks a moment, what it was caused by, and of messages what the addressee had
// done before; so many steps back.
func (w *world) past(m, steps int) {
	if m < 0 || steps == 0 {
		return
	}
	moment := &w.trace.Moments[m]
	moment.Past = true
	w.past(moment.Cause, steps-1)
	if moment.Passage >= 0 {
		w.past(w.before(m), steps/2)
	}
}

// before is the moment before at the same node, or -1.
func (w *world) before(m int) int {
	for i := m - 1; i >= 0; i-- {
		if w.trace.Moments[i].Node == w.trace.Moments[m].Node {
			return i
		}
	}
	return -1
}
