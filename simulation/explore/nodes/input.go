// What can happen to a process: each input is one turn of its node.

package nodes

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// input is a kind of event, with its group; from firstParcel on it is the arrival of a parcel.
type input int

// kind is a kind of event.
type kind int

const (
	turn       kind = iota // nothing arrives: only what is due happens
	leaseEnds              // the driver has noticed that a lease has run out
	drops                  // the group ends
	joins                  // it joins again
	isUnable               // it is not to lead any more, so it makes no bonds
	isAble                 // it may lead again
	waits                  // a step of it waits for the ledger
	goesOn                 // that is answered
	diskSlow               // nothing is saved
	diskGoesOn             // that is saved which was to be
	restarts               // the process restarts
	changes                // an operator changes who should lead
	stands                 // it is told to stand, before the first moment
	kinds
)

const firstParcel = input(int(kinds) * mostGroups)

func newInput(k kind, place int) input { return input(int(k)*mostGroups + place) }

func (in input) kind() kind { return kind(int(in) / mostGroups) }
func (in input) place() int { return int(in) % mostGroups }

// own are the inputs that are not arrivals.
func own(groups int) (all []input) {
	for k := range stands {
		all = append(all, newInput(k, 0))
		if groups > 1 && k != turn && k != diskSlow && k != diskGoesOn && k != restarts {
			all = append(all, newInput(k, 1))
		}
	}
	return all
}

// name is for people.
func (in input) name(all *parcels) string {
	if in >= firstParcel {
		return all.all[in-firstParcel].String() + " arrives"
	}
	g := groupNames[in.place()]
	return [kinds]string{
		"it takes a turn", "it notices that the lease of " + g + " is over", g + " ends", g + " joins again", g + " is not to lead", g + " may lead again", "a step of " + g + " begins to wait for the ledger",
		"the ledger of " + g + " answers", "its disk becomes slow", "its disk has saved", "it restarts", "an operator changes who should lead " + g, "it stands in " + g,
	}[in.kind()]
}

// apply has one thing happen, and says whether it can.
func (p *process) apply(in input, q *parcel, moment int) bool {
	p.now, p.sent = at(moment), nil
	if in < firstParcel && in.kind() == restarts {
		p.start()
	} else {
		p.node.At(p.now)
		if !p.begin(in, q) {
			return false
		}
	}
	p.endTurn()
	p.checkAnswers()
	p.forget()
	return true
}

func (p *process) begin(in input, q *parcel) bool {
	if q != nil {
		if p.queues(q) {
			return false
		}
		p.arrives(q)
		return true
	}
	m := p.members[in.place()]
	switch in.kind() {
	case leaseEnds:
		if m.hold == 0 || m.lease().Holds(p.now) || !m.running() {
			return false
		}
		if s := m.shares; s != nil {
			p.node.SharedLeaseOver(s.number)
		} else {
			p.node.LeaseOver(m.group, m.held)
		}
	case drops:
		if !m.running() {
			return false
		}
		m.ending = true
		p.node.End(m.group)
	case joins:
		if !m.over {
			return false
		}
		m.join(m.group.Electorate)
	case isUnable, isAble:
		if able := in.kind() == isAble; !m.running() || m.unable != able {
			return false
		}
		m.unable = !m.unable
		p.node.Electable(m.group, !m.unable)
	case waits:
		return m.waits()
	case goesOn:
		return m.goesOn()
	case diskSlow:
		if p.disk.slow {
			return false
		}
		p.disk.slow = true
	case diskGoesOn:
		if !p.disk.slow {
			return false
		}
		if p.disk.slow = false; len(p.batch) > 0 {
			p.saved()
		}
	case changes:
		return m.changes()
	case stands:
		p.node.Give(m.group, &protocol.Input{Kind: protocol.Stand}, nil)
	default: // nothing but what is due; or it has restarted
	}
	return true
}

// changes has the member prefer itself, or nobody again.
func (m *member) changes() bool {
	if !m.running() {
		return false
	}
	var preferred []string
	if m.group.Rules.Preferred == 0 {
		preferred = m.process.ids[m.process.index : m.process.index+1]
	}
	return m.process.node.SetPreferred(m.group, preferred) == nil
}

func (p *process) arrives(q *parcel) {
	if q.beat != nil {
		p.hears(q)
		return
	}
	message := q.message
	p.node.Deliver(p.Group(message.Group), &message)
}

// queues says whether a message would only wait for a step that waits. It can as well arrive afterwards.
func (p *process) queues(q *parcel) bool {
	if q.beat != nil {
		return false
	}
	g := p.Group(q.message.Group)
	return g != nil && g.Waits()
}

// waits has a step wait for the ledger: of a leader that is to resign, or of a follower that is asked whether it
// could take over. The leader may have asked that at any time.
func (m *member) waits() bool {
	p, g := m.process, m.group
	if !m.running() || g.Waits() {
		return false
	}
	m.slow = true
	switch s := g.State(); s.Role {
	case memberstate.Leader:
		m.order = &protocol.Order{Resign: true, Settled: func(error) {}}
		p.node.Obey(g, m.order)
	case memberstate.Follower:
		p.node.Deliver(g, &rpc.Message{
			Group: g.Name(), From: p.ids[s.Leader-1], To: p.ids[p.index], Leader: p.ids[p.index], Voters: g.Members.Digest(),
			Body: rpc.Body{Kind: rpc.TakeLeadership, Mark: rpc.PreVote, Term: s.Term},
		})
	default: // a candidate waits before it asks for votes, as if its alarm rang late
	}
	return m.asked
}

// goesOn has the ledger answer. The order is withdrawn before.
func (m *member) goesOn() bool {
	if !m.asked {
		return false
	}
	m.slow, m.asked = false, false
	if m.order != nil {
		m.process.node.Withdraw(m.group, m.order, errWithdrawn)
		m.order = nil
	}
	m.process.node.LedgerEnd(m.group, memberstate.Position{}, 0, nil)
	return true
}
