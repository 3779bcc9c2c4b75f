// Our side: a session in the state before the operation, copied for each.

package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Ours measures our machine.
func Ours(_ context.Context, t Task) (Cost, error) {
	return costOf(t.Times, func() (batch, error) {
		m, inputs, err := oursDoes(t.Operation)
		return batch{t.Times, func() error { return m.repeat(inputs, t.Times) }}, err
	})
}

var (
	voters = memberstate.SetOf(1, 2, 3)
	rules  = protocol.Rules{Self: 1, Voters: voters, All: voters, Timing: elector.DefaultTiming(), PreVote: true, Ranks: true}
	end    = memberstate.Position{Term: 5, Index: 10}
)

// member is one session, as in a Host's node.
type member struct {
	session protocol.Session
	step    protocol.Step
	alarm   uint32
}

// oursDoes returns a member in the state before an operation, and the inputs of the operation.
func oursDoes(operation string) (*member, []protocol.Input, error) {
	m := newMember()
	var inputs []protocol.Input
	switch operation {
	case heartbeat:
		m.follow()
		inputs = []protocol.Input{heartbeatOf2()}
	case granted:
		inputs = []protocol.Input{request(rpc.Won, 3)}
	case refused:
		m.give(request(rpc.Won, 3))
		inputs = []protocol.Input{request(rpc.Won, 2)}
	case preVote:
		inputs = []protocol.Input{request(rpc.PreVote, 3)}
	case beat:
		m.lead()
		inputs = []protocol.Input{{Kind: protocol.Ring, Number: m.alarm}}
	case stands:
		m.follow()
		inputs = []protocol.Input{{Kind: protocol.Ring, Number: m.alarm}, {Kind: protocol.Ring, Number: m.alarm + 1}}
	default:
		return nil, nil, fmt.Errorf("operation: unknown operation %q", operation)
	}
	return m, inputs, nil
}

// repeat gives the inputs to copies of the session, again and again.
func (m *member) repeat(inputs []protocol.Input, times int) error {
	before := m.session
	for range times {
		m.session = before
		for i := range inputs {
			m.give(inputs[i])
		}
	}
	return m.step.Output.Err
}

func newMember() *member {
	m := &member{session: protocol.NewSession(&rules, memberstate.HardState{Term: 5, Vote: 2}, end, 5)}
	m.give(protocol.Input{Kind: protocol.Start})
	return m
}

// follow makes the member follow member 2.
func (m *member) follow() { m.give(heartbeatOf2()) }

// lead makes the member win an election.
func (m *member) lead() {
	m.give(protocol.Input{Kind: protocol.Stand})
	for _, mark := range []rpc.Mark{rpc.PreVote, rpc.Won} {
		sent := m.step.Output.Send
		m.give(protocol.Input{Kind: protocol.Receive, Message: protocol.Message{From: 2, Body: rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: mark, Round: sent.Round, Term: 5, Asked: 6,
		}}})
	}
}

func heartbeatOf2() protocol.Input {
	return protocol.Input{Kind: protocol.Receive, Message: protocol.Message{
		From: 2, Leader: 2, Body: rpc.Body{Kind: rpc.Heartbeat, Term: 5, Round: 7},
	}}
}

// request returns a request for a vote in the next term.
func request(mark rpc.Mark, from memberstate.Seat) protocol.Input {
	return protocol.Input{Kind: protocol.Receive, Message: protocol.Message{
		From: from, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: mark, Term: 6, Round: 1, Ledger: end},
	}}
}

func (m *member) give(in protocol.Input) {
	x := &m.step
	x.Input = in
	need := m.session.Begin(&rules, now, x, m)
	for need == protocol.NeedLedger {
		need = m.session.Ledger(&rules, now, x, m, end, 0)
	}
	if need == protocol.NeedSave {
		m.session.Saved(&rules, now, x, m)
	}
}

// now is an arbitrary time.
const now = time.Second

// Arm keeps the number for the ring.
func (m *member) Arm(a protocol.Alarm) { m.alarm = a.Number }

// EndLead returns at once, because there is no Lead.
func (m *member) EndLead(term memberstate.Term) { m.session.LeadReturned(term, false) }

// The other effects do nothing.

func (m *member) Before(*protocol.Input)                  {}
func (m *member) After(*protocol.Step)                    {}
func (m *member) Hold(time.Duration)                      {}
func (m *member) Show(protocol.View)                      {}
func (m *member) Reply(*protocol.Message)                 {}
func (m *member) Send(memberstate.Set, *protocol.Message) {}
func (m *member) Judge(rpc.Mark, elector.Judgement)       {}
func (m *member) Drop(elector.Drop)                       {}
func (m *member) Done()                                   {}
func (m *member) Lead(memberstate.Term)                   {}
func (m *member) Pause(memberstate.Term, uint32)          {}
func (m *member) Resume()                                 {}
func (m *member) Settle()                                 {}
