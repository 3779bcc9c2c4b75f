// The list of all stale messages: every message that is ever sent within the bounds, from any member, with every
// leader that it could name. A few more do no harm. A message that is not listed is kept like any other.

package explore

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// staleMessages lists them, from the first member on.
func staleMessages(b *Bounds) (all []protocol.Message) {
	bodies := append(staleRequests(b), staleAnswers(b)...)
	for i := range b.Members {
		from := seatOf(i)
		for leader := range b.Members + 1 { // 0: nobody
			for _, body := range bodies {
				if msg := (protocol.Message{From: from, Leader: memberstate.Seat(leader), Body: body}); body.Kind != rpc.Heartbeat || msg.Leader == from {
					all = append(all, msg)
				}
			}
		}
	}
	return all
}

func staleRequests(b *Bounds) (all []rpc.Body) {
	detection := rulesOf(b)[0].Timing.Detection() // all members have the same
	for term := range memberstate.Term(b.Terms) + 1 {
		for _, ledger := range ledgerEnds(b, term) {
			for _, mark := range marksOf(b) {
				all = append(all, rpc.Body{Kind: rpc.VoteRequest, Mark: mark, Round: thisRound, Term: term, Ledger: ledger})
			}
			for round := range uint32(b.Beats) {
				for mark := rpc.Plain; mark <= rpc.PreVote && b.handsOver(); mark++ {
					all = append(all, rpc.Body{Kind: rpc.TakeLeadership, Mark: mark, Round: round + 1, Term: term, Ledger: ledger})
				}
			}
		}
		for round := range uint32(b.Beats) {
			for _, lease := range leasesOf(b) {
				all = append(all, rpc.Body{Kind: rpc.Heartbeat, Round: round + 1, Term: term, Lease: lease, Detection: detection})
			}
		}
	}
	return all
}

func staleAnswers(b *Bounds) (all []rpc.Body) {
	for asked := range memberstate.Term(b.Terms) + 1 {
		for term := range memberstate.Term(b.Terms) + 1 {
			answer := func(kind rpc.Kind, result rpc.Result, mark rpc.Mark, round uint32) *rpc.Body {
				all = append(all, rpc.Body{Kind: kind, Result: result, Mark: mark, Round: round, Asked: asked, Term: term})
				return &all[len(all)-1]
			}
			for result := rpc.Accept; result <= rpc.RejectTakingLeadership; result++ {
				for _, mark := range marksOf(b) {
					answer(rpc.VoteResponse, result, mark, roundOver)
					answer(rpc.VoteResponse, result, mark, thisRound)
				}
			}
			for round := range uint32(b.Beats) {
				for result := rpc.Success; result <= rpc.TermNotReady; result++ {
					answer(rpc.HeartbeatResponse, result, rpc.Plain, round+1)
					if b.Leases {
						answer(rpc.HeartbeatResponse, result, rpc.Plain, round+1).Promised = true
					}
				}
			}
			if b.Ability {
				answer(rpc.HeartbeatResponse, rpc.NotAble, rpc.Plain, 0) // it answers no heartbeat
			}
			if !b.handsOver() {
				continue
			}
			for round := range uint32(b.Beats) {
				for _, result := range takeResultsOf(b) {
					answer(rpc.TakeLeadershipResponse, result, rpc.Plain, round+1)
					answer(rpc.TakeLeadershipResponse, result, rpc.PreVote, round+1)
				}
			}
			for _, ledger := range ledgerEnds(b, asked) {
				answer(rpc.VoteResponse, rpc.Accept, rpc.Vouched, roundOver).Ledger = ledger
			}
		}
	}
	return all
}

// marksOf are the marks that rounds of votes can have. A leader that needs a new term always asks in a
// pre-vote.
func marksOf(b *Bounds) []rpc.Mark {
	marks := []rpc.Mark{rpc.Plain, rpc.PreVote, rpc.Won}
	if b.handsOver() {
		marks = append(marks, rpc.Handed)
	}
	return marks
}

// takeResultsOf are the answers of a member that is asked to take over.
func takeResultsOf(b *Bounds) []rpc.Result {
	results := []rpc.Result{rpc.Accept, rpc.NotFollowing, rpc.LedgerBehind}
	if b.Ability {
		results = append(results, rpc.NotAble)
	}
	return results
}

// leasesOf are the leases that heartbeats can ask for.
func leasesOf(b *Bounds) []time.Duration {
	if b.Leases {
		return []time.Duration{0, promiseTicks * tick}
	}
	return []time.Duration{0}
}

// ledgerEnds are the possible ends of a member's ledger in a term.
func ledgerEnds(b *Bounds, term memberstate.Term) []memberstate.Position {
	all := []memberstate.Position{{}}
	for index := range uint64(b.Entries) {
		for last := range term {
			all = append(all, memberstate.Position{Term: last + 1, Index: index + 1})
		}
	}
	return all
}
