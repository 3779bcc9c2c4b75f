// Stale messages: a message that arrives too late is not kept in a state. Instead every message that could
// have been sent may arrive.
//
// The intuition: n0 has asked for votes, lost, and asks again. The answers to its first round may
// still arrive, and it must ignore them. To keep them would make two states of each one, by whether n1 had
// answered in time. So they are forgotten, and instead every answer that n1 could have given to an older round
// may arrive at any time, whether it was given or not. That the code ignores it is not assumed, but checked.
//
// The cases:
//
//   - Answers to rounds of votes that are over, and to a leader that leads no more.
//   - Requests, and votes that a leader vouched for, of a term that all others have left behind or have
//     voted in; requests for pre-votes of rounds that are over.
//   - Refusals of a vote, of a heartbeat or of a handover. Any member may refuse any request, for any reason, at
//     any time. No election is safe because of a refusal, so the refusals that could not have been sent must
//     break nothing either.
//   - The note that a member has led a term is forgotten when all have left the term.
//
// So the explorer allows more than can happen. A violation that needs a message that could not have been sent
// has no script.
//
// The shortcut that looks right and is wrong is to forget a message and to let nothing arrive in its place, because the
// machine ignores it. Then the one mistake that matters, a machine that does not ignore it, would never be found.

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// forgetsLate says whether messages that come too late are not kept. Otherwise they are kept like any other.
func (m *model) forgetsLate() bool { return len(m.registry.stale) > 0 }

// arrivesAsStale says whether an answer from a member in a term arrives only as a stale one: a refusal, a vote in a
// round that is over, or, if processes crash, a vote in a pre-vote.
func (m *model) arrivesAsStale(b *protocol.Message, in memberstate.Term) bool {
	vote := b.Kind == rpc.VoteResponse && (b.Round == roundOver || b.Mark == rpc.PreVote && !m.bounds.NoCrash)
	return (vote || refuses(b)) && b.Term <= in && m.registry.isStale(b)
}

// refuses says whether a message is a refusal of any kind.
func refuses(b *protocol.Message) bool {
	return b.Result != 0 && b.Result != rpc.Accept && b.Result != rpc.Success
}

// isForgotten says whether an answer is forgotten because it is among the stale messages: an answer to a leader
// that leads no more, or to a round of votes that is not under way. If another round asks for the same, the same
// request is answered again.
func (m *model) isForgotten(s *state, id messageID) bool {
	msg := &m.messages[id]
	switch b := &msg.body; {
	case !m.listed[id]:
		return false
	case msg.answersLeader():
		return !m.nodes[s.nodes[msg.to-1]].leads(b.Asked)
	case b.Kind == rpc.VoteResponse && b.Mark != rpc.Vouched:
		return !m.nodes[s.nodes[msg.to-1]].asks(b.Asked, b.Mark)
	default:
		return false
	}
}

// forget removes requests, and votes that answer none, that are too late for every member that they may
// reach, because they are among the stale messages. It also forgets who has led a term that all have left,
// because no member returns to it.
func (m *model) forget(s *state) {
	for id := range s.sent.all {
		if msg := &m.messages[id]; m.listed[id] && m.mayBeObsolete(s, msg) && m.obsoleteForAll(s, msg) || msg.won && m.leftByAll(s, msg.body.Term) {
			s.sent.remove(id)
		}
	}
}

// leftByAll says whether all have left a term.
func (m *model) leftByAll(s *state, term memberstate.Term) bool {
	for i := range m.bounds.Members {
		if m.nodes[s.nodes[i]].session.Term <= term {
			return false
		}
	}
	return true
}

// mayBeObsolete says whether a message is too late as soon as all members that it may reach have gone on. A message
// of a leader is not while it leads, because until then answers to it count.
func (m *model) mayBeObsolete(s *state, msg *message) bool {
	switch b := &msg.body; {
	case msg.asksForVote(), b.Mark == rpc.Vouched:
		return true
	default:
		return b.Result == 0 && b.Kind != rpc.VoteRequest && !m.nodes[s.nodes[b.From-1]].leads(b.Term)
	}
}

func (m *model) obsoleteForAll(s *state, msg *message) bool {
	for i := range m.bounds.Members {
		if msg.isFor(seatOf(i)) && !m.obsoleteFor(s, &m.nodes[s.nodes[i]], msg) {
			return false
		}
	}
	return true
}

// obsoleteFor says whether a node has gone on: to a later term or, if it is asked for a vote, by giving its vote to
// another candidate, or to this one if it does not wait for the vote any more.
func (m *model) obsoleteFor(s *state, n *node, msg *message) bool {
	b := &msg.body
	switch {
	case b.Mark == rpc.Vouched:
		return n.session.Term > b.Asked
	case !msg.asksForVote():
		return n.session.Term > b.Term
	}
	if n.session.Term == b.Term && n.session.Vote == b.From {
		return !m.nodes[s.nodes[b.From-1]].asks(b.Term, b.Mark)
	}
	return n.votedIn(b.Term)
}

// couldArrive says whether a stale message could reach a node.
//
// A restarted process numbers its rounds from the beginning, so an answer to the incarnation before may bear the
// number of the round that is under way. For a pre-vote it may be any answer. For a vote it is one of an earlier
// term: a member does not ask for votes in the term that it restarts in, which step.go checks.
func (m *model) couldArrive(n *node, msg *protocol.Message) bool {
	switch {
	case msg.From == n.seat:
		return false
	case msg.Kind == rpc.VoteRequest:
		return msg.Mark == rpc.PreVote || n.votedIn(msg.Term)
	case msg.Result == 0:
		return msg.Term < n.session.Term
	case msg.Mark == rpc.Vouched:
		return msg.Asked < n.session.Term
	case msg.Kind != rpc.VoteResponse && n.leads(msg.Asked):
		return refuses(msg) && msg.Round <= n.session.Beat()
	case msg.Kind != rpc.VoteResponse:
		return true
	case msg.Round == roundOver || !n.inRound() || msg.Result != rpc.Accept:
		return true
	case m.bounds.NoCrash:
		return false
	default:
		return msg.Mark == rpc.PreVote || msg.Asked < n.session.Term
	}
}

// staleInputs are the stale messages that change a node. Most change none, and of those with the same results one
// is kept. They are worked out for one node of each orbit.
func (m *model) staleInputs(id nodeID) []inputID {
	return m.registry.staleInputs.of(id, m, func(id nodeID) []inputID {
		to := m.nodes[id].sorted(m.bounds.Members)
		like := m.nodes[id].renamed(to)
		if at := m.intern(&like); at != id {
			return m.renameStale(m.staleInputs(at), to.inverse())
		}
		return m.computeStaleInputs(id)
	})
}

func (m *model) computeStaleInputs(id nodeID) []inputID {
	matter := []inputID{}
	results := map[memberstate.Term][][]stepResult{}
	bare := node{seat: m.nodes[id].seat}
	bare.session.Machine = m.nodes[id].session.Machine
	for _, i := range m.registry.relevantStale.of(bare, m, m.computeRelevantStale) {
		in := input{kind: stale, staleIndex: i}
		if all := m.computeResults(id, in); len(all) > 1 || all[0].noticed(id) {
			needs := termNeeded(&m.registry.stale[i])
			if !slices.ContainsFunc(results[needs], func(other []stepResult) bool { return sameResults(all, other) }) {
				results[needs] = append(results[needs], all)
				matter = append(matter, m.input(in))
			}
		}
	}
	return matter
}

// computeRelevantStale are the stale messages that could reach a node and that its machine does not ignore.
// Of several that provably have the same effect, one stands for all.
func (m *model) computeRelevantStale(n node) []int {
	some := []int{}
	seen := map[protocol.Machine][][]outcome{} // by what the machine becomes: a hash of all would cost more
	trials := m.trialsOf(&n)
	all := make([]outcome, len(trials))
	for i := range m.registry.stale {
		msg := &m.registry.stale[i]
		if !m.couldArrive(&n, msg) {
			continue
		}
		ignored, exact := true, true
		for k := range trials {
			ignored = trials[k].outcome(m, &all[k], &n, msg) && ignored
			exact = exact && all[k].exact
		}
		became := all[0].machines[0]
		if ignored || slices.ContainsFunc(seen[became], func(other []outcome) bool { return slices.Equal(all, other) }) {
			continue
		}
		some = append(some, i)
		if exact {
			seen[became] = append(seen[became], slices.Clone(all))
		}
	}
	return some
}

// trial is a node's machine with an ability, in each of its retry variants.
type trial struct {
	ability
	machines [2]protocol.Machine
}

// trialsOf are those in which stale messages are tried. A leader is tried with half of its abilities, because a stale
// message comes with every reason and every set of others, and its back-off does not concern messages.
func (m *model) trialsOf(n *node) (all []trial) {
	for i, a := range m.abilitiesOf(n) {
		if n.session.Role == memberstate.Leader && m.forgetsAbility() && a.more != (i/2%2 == 0) {
			continue
		}
		t := trial{a, n.session.RetryVariants()}
		for k := range t.machines {
			t.machines[k] = a.in(m, t.machines[k])
		}
		all = append(all, t)
	}
	return all
}

// outcome works out the outcome of a stale message, and says whether the node ignores it. That it learns who is able is
// no change.
func (t *trial) outcome(m *model, o *outcome, n *node, msg *protocol.Message) (ignored bool) {
	r, said := &m.rules[n.index()], *msg
	t.said(&said, r.Voters)
	switch {
	case o.of(r, &t.machines, &said):
		return true
	case !m.forgetsAbility() || o.acts:
		return false
	}
	for i := range o.machines {
		if o.machines[i].Canonical(r).WithoutAbility() != t.machines[i].Canonical(r).WithoutAbility() {
			return false
		}
	}
	return true
}

// outcome is what a stale message makes a node's machine do, in each of its retry variants: the result of work in
// brief, at a fraction of the cost. If it is exact, two messages with the same outcome have the same results. It
// is not exact if the machine asks for more, if the result depends on seats, or if the machine breaks a rule
// about certain messages: if it votes without looking at its ledger, or is changed by a pre-vote.
type outcome struct {
	machines [2]protocol.Machine
	outputs  [2]protocol.Output
	needs    memberstate.Term
	exact    bool
	acts     bool // it does not only change itself
}

// of works out the outcome, and says whether the machine ignores the message, as it mostly does.
func (o *outcome) of(r *protocol.Rules, variants *[2]protocol.Machine, msg *protocol.Message) (ignored bool) {
	in := protocol.Input{Kind: protocol.Receive, Message: *msg}
	preVote := msg.Kind == rpc.VoteRequest && msg.Mark == rpc.PreVote
	o.needs, o.exact, ignored = termNeeded(msg), !choosesNext(msg), true
	o.machines, o.acts = *variants, false
	for i := range o.machines {
		before, machine, out := &variants[i], &o.machines[i], &o.outputs[i]
		machine.Step(r, &in, out)
		out.Dropped = 0 // it is only for counters
		votes := out.Replied && out.Reply.Result == rpc.Accept
		answers := votes || out.Replied && msg.Result != 0 // the answer to a stale request is stale, too, unless it is a vote
		acts := answers || out.NeedLedger || out.Save || out.To != 0 || out.Err != nil
		changes := *machine != *before
		o.exact = o.exact && !out.NeedLedger && out.Err == nil && !votes && (!preVote || !changes)
		o.acts = o.acts || acts
		ignored = ignored && !acts && (!changes || machine.Canonical(r) == before.Canonical(r))
	}
	return ignored
}

// renameStale is the same for members in other seats.
func (m *model) renameStale(inputs []inputID, to renaming) []inputID {
	renamed := make([]inputID, len(inputs))
	for i, in := range inputs {
		renamed[i] = m.input(input{kind: stale, staleIndex: m.registry.staleAt[m.registry.stale[m.inputs[in].staleIndex].Renamed(to.of)]})
	}
	return renamed
}
