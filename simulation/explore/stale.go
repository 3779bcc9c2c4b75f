// What comes too late: answers to rounds of votes that are over, or to a leader that is
// none any more; requests, and votes that a leader vouched for, of a term that all others
// have left behind. There are many, a node must ignore all of them, and which of them were
// really sent is not remembered: whatever could have been may arrive at any time. So nothing
// depends on the code ignoring them.

package explore

import (
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// staleMessages are all that there could be.
func staleMessages(b *Bounds) []elector.Message { return append(staleAnswers(b), staleRequests(b)...) }

func staleRequests(b *Bounds) (all []elector.Message) {
	for i := range b.Members {
		for term := range memberstate.Term(b.Terms) {
			add := func(kind rpc.Kind, mark rpc.Mark, leader memberstate.Seat, ledger memberstate.Position) {
				all = append(all, elector.Message{From: seatOf(i), Leader: leader, Body: rpc.Body{
					Kind: kind, Mark: mark, Term: term, Ledger: ledger, Round: roundOver,
				}})
			}
			add(rpc.Heartbeat, rpc.Plain, seatOf(i), memberstate.Position{})
			for index := range uint64(b.Entries + 1) {
				ledger := memberstate.Position{Term: min(term, memberstate.Term(index)), Index: index}
				for other := range b.Members {
					add(rpc.TakeLeadership, rpc.Plain, seatOf(other), ledger)
					add(rpc.TakeLeadership, rpc.PreVote, seatOf(other), ledger)
					for mark := rpc.Plain; mark <= rpc.Handed; mark++ {
						add(rpc.VoteRequest, mark, seatOf(other), ledger)
					}
				}
			}
		}
	}
	return all
}

func staleAnswers(b *Bounds) (all []elector.Message) {
	terms := memberstate.Term(b.Terms)
	add := func(from memberstate.Seat, kind rpc.Kind, result rpc.Result, mark rpc.Mark, round uint32) {
		for asked := range terms + 1 {
			for term := range terms + 1 {
				for _, leader := range []memberstate.Seat{memberstate.Nobody, from} {
					all = append(all, elector.Message{From: from, Leader: leader, Body: rpc.Body{
						Kind: kind, Result: result, Mark: mark, Asked: asked, Term: term, Round: round,
					}})
				}
			}
		}
	}
	for i := range b.Members {
		for result := rpc.Accept; result <= rpc.RejectTakingLeadership; result++ {
			for mark := rpc.Plain; mark <= rpc.Handed; mark++ {
				add(seatOf(i), rpc.VoteResponse, result, mark, roundOver)
				add(seatOf(i), rpc.VoteResponse, result, mark, thisRound)
			}
		}
		add(seatOf(i), rpc.VoteResponse, rpc.Accept, rpc.Vouched, roundOver) // for whatever ledger
		for round := range uint32(b.Beats) {
			for result := rpc.Success; result <= rpc.TermNotReady; result++ {
				add(seatOf(i), rpc.HeartbeatResponse, result, rpc.Plain, round+1)
			}
			for _, result := range []rpc.Result{rpc.Accept, rpc.NotFollowing, rpc.LedgerBehind} {
				add(seatOf(i), rpc.TakeLeadershipResponse, result, rpc.PreVote, round+1)
			}
		}
	}
	return all
}

// couldBe says whether a message that comes too late could reach a node.
//
// A process that is started again numbers its rounds from the beginning, so an answer to
// the one before may bear the number of the round that is under way. To a pre-vote it may
// be any. To a vote it is one of an earlier term: a member does not ask for votes in the
// term that it restarts in, which is looked at in stepping.go.
func (m *model) couldBe(n *node, msg *elector.Message) bool {
	switch {
	case msg.From == n.seat:
		return false
	case msg.Result == 0:
		return msg.Term < n.machine.Term
	case msg.Mark == rpc.Vouched:
		return msg.Asked < n.machine.Term
	case msg.Kind != rpc.VoteResponse:
		return !n.leads(msg.Asked)
	case msg.Round == roundOver || !n.open():
		return true
	case m.bounds.NoCrash:
		return false
	default:
		return msg.Mark == rpc.PreVote || msg.Asked < n.machine.Term
	}
}

// staleInputs are those that change a node. Most change none, and what others change the
// same way is left out.
func (m *model) staleInputs(id nodeID) []inputID {
	for len(m.staleOf) <= int(id) {
		m.staleOf = append(m.staleOf, nil)
	}
	if known := m.staleOf[id]; known != nil {
		return known
	}
	n := m.nodes[id] // a copy
	matter := []inputID{}
	seen := map[string]bool{}
	for i := range m.stale {
		if !m.couldBe(&n, &m.stale[i]) || m.ignores(&n, &m.stale[i]) {
			continue
		}
		in := input{kind: stale, late: i}
		if all := m.work(id, in); len(all) > 1 || all[0].noticed(id) {
			if key := fingerprint(m.stale[i].Term, all); !seen[key] {
				seen[key] = true
				matter = append(matter, m.input(in))
			}
		}
	}
	m.staleOf[id] = matter
	return matter
}

// ignores says whether a node does nothing at all about a message. It is work's answer,
// for most messages, at a fraction of the cost.
func (m *model) ignores(n *node, msg *elector.Message) bool {
	machine, r := n.machine, &m.rules[n.index()]
	in, out := elector.Input{Kind: elector.Receive, Message: *msg}, elector.Output{}
	machine.Step(r, &in, &out)
	answers := out.Replied && msg.Result != 0 // who asked too late hears too late
	acts := answers || out.NeedLedger || out.Save || out.To != 0 || out.Err != nil
	return !acts && (machine == n.machine || machine.Canonical(r) == n.machine)
}
