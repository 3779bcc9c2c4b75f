// Forged messages: each comes from a sender that has no right to send it, or arrives at a node that
// it is not for. The receiver may answer, and must not change its state.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// forgery says what is wrong with a message.
type forgery int64

const (
	fromStranger   forgery = iota // no list has the sender
	fromObserver                  // the sender is an observer, and speaks as a voter does
	fromReceiver                  // the sender is the receiver itself
	toAnother                     // it is for another node
	byOtherVoters                 // the sender has another list of voters
	bySecondLeader                // a heartbeat, and another leads the term
	toObserver                    // the receiver is an observer, and has no vote

	forgeries  = 7
	mostForged = forgeries*int64(rpc.TakeLeadershipResponse) - 1
)

var forgeryNames = [forgeries]string{
	"from a stranger", "from an observer", "from the member itself", "for another node", "by other voters", "by a second leader", "to an observer",
}

// drawForged has s.Count say what is wrong, and of which kind the message is. A leader that
// looks for an heir often gets an answer to that, because leaders rarely do this.
func drawForged(w *world, s *Strike) bool {
	r := w.swarm.random
	s.Lasts, s.Count = 0, r.Int64N(mostForged+1)
	switch leader := w.leader(s.Group); {
	case forgery(s.Count%forgeries) == toObserver:
		if w.observer == nil {
			return false
		}
		s.Node = w.observer.Index
	case leader != nil && leader.phase() == protocol.Probing && r.IntN(2) == 0:
		s.Node, s.Count = leader.Index, int64(rpc.TakeLeadershipResponse-1)*forgeries+s.Count%2
	}
	return true
}

// forge gives members messages that no member sent. The strike is counted if a member takes the
// message at once.
func forge(w *world, s *Strike) (struck bool) {
	how, kind := forgery(s.Count%forgeries), rpc.Kind(1+s.Count/forgeries)
	for _, m := range w.membersOf(s) {
		struck = m.hearsForged(how, kind) || struck
	}
	return struck
}

func (m *member) hearsForged(how forgery, kind rpc.Kind) bool {
	switch how {
	case toObserver:
		kind = rpc.VoteRequest
	case bySecondLeader:
		kind = rpc.Heartbeat
	default: // any kind can be forged
	}
	msg := m.dangerous(kind)
	return m.forge(how, msg) && m.inVain(kind.String()+" "+forgeryNames[how], func() {
		m.hears(-1)
		m.arriving, m.untaken = &parcel{message: *msg, from: uint8(m.Index), group: uint8(m.Place), passage: -1}, true
		m.host.Deliver(&m.group, msg)
		m.untaken = false
		m.hearing = m.hearing[:0] // in case no step has taken it
	})
}

// dangerous is the message of a kind that would matter most to the member if the right member had
// sent it.
func (m *member) dangerous(kind rpc.Kind) *rpc.Message {
	g := m.group.Peek()
	mark, term := m.Ballot()
	msg := &rpc.Message{Group: m.group.Name(), To: m.name(), Voters: m.electorate.Members.Digest(), Body: rpc.Body{Kind: kind, Term: g.Term, Asked: g.Term}}
	b := &msg.Body
	switch kind {
	case rpc.VoteRequest:
		b.Term, b.Mark, b.Ledger = g.Term+1, rpc.Won, memberstate.Position{Term: g.Term, Index: 1 << 40}
	case rpc.VoteResponse:
		b.Result, b.Round, b.Mark, b.Asked = rpc.Accept, g.Ballot(), mark, term
	case rpc.Heartbeat:
		b.Term, b.Round = g.Term+1, 1
	case rpc.HeartbeatResponse:
		b.Result, b.Round, b.Promised = rpc.Success, g.Beat(), true
	case rpc.TakeLeadership:
		msg.Leader = m.name()
	case rpc.TakeLeadershipResponse:
		b.Result, b.Round, b.Mark = rpc.Accept, g.Beat(), rpc.PreVote
	}
	return msg
}

// forge makes a message wrong, and says whether that is possible now.
func (m *member) forge(how forgery, msg *rpc.Message) bool {
	w := m.world
	switch how {
	case fromStranger:
		msg.From = "stranger"
		return true
	case fromReceiver:
		msg.From = m.name()
		return true
	case fromObserver:
		if w.observer == nil || w.observer == m.node {
			return false
		}
		msg.From = w.observer.name()
		return true
	case toObserver:
		msg.From = names[0]
		return m.node == w.observer
	case toAnother:
		msg.To = "stranger"
	case byOtherVoters:
		msg.Voters++
	case bySecondLeader:
		if msg.Term = m.group.State().Term; m.group.State().Leader == memberstate.Nobody {
			return false
		}
	}
	for other := range w.voters.Without(m.Seat).Without(m.group.State().Leader).Seats() {
		msg.From = names[other-1]
		return true
	}
	return false
}

// inVain gives a group something that must not change it, and says whether the group could take
// that at once.
func (m *member) inVain(what string, tell func()) bool {
	if !m.Alive || m.Paused || m.Shown.Stopped || m.group.Waits() {
		return false
	}
	was, rested := m.group.Peek(), m.group.Rests()
	before := was.Machine
	m.host.At(m.local())
	m.unheeded = true
	tell()
	m.unheeded = false
	c := &m.world.check
	c.Counts[invariant.LegalStep]++
	if now := m.group.Peek(); now.Machine != before && (!rested || now.State != before.State) { // to wake a leader that rests changes what it counts
		c.Violated(invariant.LegalStep, &m.Member, "%s changed it, from %+v to %+v", what, before, now.Machine)
	}
	m.endTurn()
	return true
}
