// The election: pre-votes, votes that are saved before they are given, heartbeats that
// extend a lease.

package sample

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation"
)

const (
	heartbeat = 50 * time.Millisecond
	detection = 200 * time.Millisecond
)

func (w *world) start(i int) {
	n := &w.nodes[i]
	n.Incarnation++
	n.Up, n.Paused, n.Saving, n.Asking, n.Accepts, n.Leader = true, false, false, "", 0, -1
	if n.Role != memberstate.Observer {
		n.Role = memberstate.Candidate
	}
	n.alarm = w.moment(i, simulation.Started, -1, -1, "starts, incarnation %d", n.Incarnation)
	n.heard, n.patient = w.now, detection+w.draw(detection)
	w.watch(i, n.Incarnation)
}

// watch rings when a node has waited long enough for a heartbeat.
func (w *world) watch(i int, incarnation uint32) {
	n := &w.nodes[i]
	w.after(max(n.heard+n.patient-w.now, time.Millisecond), func() {
		switch {
		case n.Incarnation != incarnation || !n.Up || n.Role == memberstate.Observer:
			return
		case !n.Paused && n.Role != memberstate.Leader && w.now >= n.heard+n.patient:
			w.ask(i, rpc.PreVote)
		}
		w.watch(i, incarnation)
	})
}

// ask begins a round: of pre-votes, or of votes after a save.
func (w *world) ask(i int, mark rpc.Mark) {
	n := &w.nodes[i]
	n.heard, n.patient = w.now, detection+w.draw(detection)
	w.stepDown(i) // it may have led
	n.Accepts = 1
	n.round++
	if mark == rpc.PreVote {
		n.Asking = "pre-vote"
		n.alarm = w.moment(i, simulation.Stepped, n.alarm, -1, "alarm rings")
		w.toAll(i, simulation.Passage{Kind: rpc.VoteRequest, Mark: mark, Term: n.Term + 1})
		return
	}
	n.Term++
	n.Vote, n.Asking = i, "vote"
	w.save(i, w.moment(i, simulation.Stepped, n.last, -1, "has won the pre-vote"), func() {
		w.toAll(i, simulation.Passage{Kind: rpc.VoteRequest, Mark: mark, Term: n.Term})
	})
}

// save makes term and vote durable, and then goes on.
func (w *world) save(i, asked int, then func()) {
	n := &w.nodes[i]
	incarnation, term, vote := n.Incarnation, n.Term, n.Vote
	n.Saving = true
	w.amend(i)
	band := w.band(simulation.Band{Kind: simulation.SaveBand, Node: i, What: "save"})
	w.after(2*time.Millisecond+w.draw(6*time.Millisecond), func() {
		w.ends(&band)
		if n.Incarnation != incarnation || !n.Up {
			return
		}
		n.Saving, n.Durable, n.DurableVote = false, term, vote
		w.moment(i, simulation.SaveDone, asked, -1, "term %d is on the disk", term)
		if n.Term == term {
			then()
		}
	})
}

// lead begins an office.
func (w *world) lead(i int) {
	n := &w.nodes[i]
	n.Role, n.Leader, n.Asking, n.Accepts, n.acks, n.Serving = memberstate.Leader, i, "", 0, 1, n.Term
	w.amend(i)
	w.trace.Result.Elections++
	w.trace.Result.Checked[simulation.LeaderComplete]++
	n.office = w.band(simulation.Band{Kind: simulation.OfficeBand, Node: i, What: "office", Term: n.Term})
	w.beat(i, n.Incarnation, n.Term)
}

// beat sends heartbeats for as long as a node leads.
func (w *world) beat(i int, incarnation uint32, term memberstate.Term) {
	n := &w.nodes[i]
	if n.Incarnation != incarnation || !n.Up || n.Role != memberstate.Leader || n.Term != term {
		return
	}
	if !n.Paused {
		n.acks = 1
		n.round++
		n.Ledger = memberstate.Position{Term: term, Index: n.Ledger.Index + 3}
		n.alarm = w.moment(i, simulation.Stepped, n.last, -1, "alarm rings: sends heartbeats")
		w.toAll(i, simulation.Passage{Kind: rpc.Heartbeat, Term: term})
	}
	w.after(heartbeat, func() { w.beat(i, incarnation, term) })
}

// stepDown leaves the office, for a larger term or a crash.
func (w *world) stepDown(i int) {
	n := &w.nodes[i]
	w.ends(&n.lease)
	w.ends(&n.office)
	n.Serving, n.Asking, n.Accepts, n.Leader = 0, "", 0, -1
	if n.Role != memberstate.Observer {
		n.Role = memberstate.Candidate
	}
}

// hear is what a node does with a message that has arrived.
func (w *world) hear(place int) {
	p := w.trace.Passages[place]
	n := &w.nodes[p.To]
	if p.Term > n.Term && p.Mark != rpc.PreVote {
		w.stepDown(p.To)
		n.Term, n.Vote = p.Term, -1
	}
	switch p.Kind {
	case rpc.VoteRequest:
		w.asked(place, p)
	case rpc.VoteResponse:
		w.answered(place, p)
	case rpc.Heartbeat:
		if n.Role != memberstate.Leader && p.Term >= n.Term {
			n.Leader, n.heard, n.Asking, n.Accepts = p.From, w.now, "", 0
			n.Ledger = w.nodes[p.From].Ledger
			if n.Role == memberstate.Candidate {
				n.Role = memberstate.Follower
			}
		}
		w.heard(place, "heartbeat")
		w.send(simulation.Passage{From: p.To, To: p.From, Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: n.Term, Round: p.Round})
	case rpc.HeartbeatResponse:
		w.acknowledged(place, p)
	case rpc.TakeLeadership:
		w.heard(place, "take leadership")
		w.ask(p.To, rpc.Handed)
	case rpc.TakeLeadershipResponse:
		w.heard(place, "take leadership answer")
	}
}

func (w *world) heard(place int, what string) {
	p := &w.trace.Passages[place]
	p.HeardBy = w.moment(p.To, simulation.Stepped, p.SentBy, place, "receives %s from n%d", what, p.From)
}

func (w *world) asked(place int, p simulation.Passage) {
	n := &w.nodes[p.To]
	answer := simulation.Passage{From: p.To, To: p.From, Kind: rpc.VoteResponse, Mark: p.Mark, Round: p.Round, Term: p.Term, Result: rpc.Accept}
	switch {
	case n.Role == memberstate.Observer:
		w.heard(place, "vote request")
		return
	case p.Term < n.Term:
		answer.Result = rpc.RejectExpiredVoteTerm
	case n.Leader >= 0 && w.now < n.heard+detection && p.Mark != rpc.Handed:
		answer.Result = rpc.RejectAlreadyHasLeader
	case p.Mark != rpc.PreVote && n.Vote >= 0 && n.Vote != p.From:
		answer.Result = rpc.RejectAlreadyVoted
	}
	if answer.Result != rpc.Accept || p.Mark == rpc.PreVote {
		w.heard(place, "vote request")
		w.send(answer)
		return
	}
	n.Vote, n.heard = p.From, w.now
	w.heard(place, "vote request")
	w.save(p.To, n.last, func() { w.send(answer) })
}

func (w *world) answered(place int, p simulation.Passage) {
	n := &w.nodes[p.To]
	counts := p.Round == n.round && n.Asking != "" && p.Result == rpc.Accept
	if counts {
		n.Accepts++
	}
	w.heard(place, "vote answer")
	if !counts || n.Accepts != w.voters()/2+1 {
		return
	}
	if n.Asking == "pre-vote" {
		w.ask(p.To, rpc.Won)
		return
	}
	w.lead(p.To)
}

func (w *world) acknowledged(place int, p simulation.Passage) {
	n := &w.nodes[p.To]
	w.heard(place, "heartbeat answer")
	if n.Role != memberstate.Leader || p.Round != n.round {
		return
	}
	if n.acks++; n.acks == w.voters()/2+1 && n.lease < 0 {
		w.trace.Result.Checked[simulation.OneLease]++
		n.lease = w.band(simulation.Band{Kind: simulation.LeaseBand, Node: p.To, What: "lease", Term: n.Term})
	}
}
