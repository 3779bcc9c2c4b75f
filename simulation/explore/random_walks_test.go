package explore

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The explorer is only as good as its notion of a state. So machines without that notion, whose rounds keep their
// numbers, take random walks within the same bounds. The explorer must know every state that they reach.
func TestTheExplorerCoversRandomRuns(t *testing.T) {
	effort.Alone(t)
	walks := effort.Of(10_000, 300)
	for name, c := range map[string]struct {
		bounds Bounds
		large  bool
	}{
		"two members, two terms":   {Bounds{Members: 2, Terms: 2, Beats: 2, Entries: 1}, true},
		"withdrawals":              {Bounds{Members: 2, Terms: 2, Beats: 2, Withdrawals: true}, true},
		"pauses":                   {Bounds{Members: 2, Terms: 1, Beats: 2, Withdrawals: true, Pauses: true}, false},
		"ability":                  {Bounds{Members: 2, Terms: 1, Beats: 2, NoHints: true, Ability: true}, true},
		"ability, two terms":       {Bounds{Members: 2, Terms: 2, Beats: 2, NoHints: true, Ability: true}, true},
		"ability, engines":         {Bounds{Members: 2, Terms: 1, Beats: 2, Entries: 1, Withdrawals: true, Pauses: true, NoHints: true, Ability: true}, true},
		"three members, ability":   {Bounds{Members: 3, Terms: 1, Beats: 2, NoTransfer: true, NoHints: true, Ability: true}, true},
		"three members":            {Bounds{Members: 3, Terms: 1, Beats: 1}, false},
		"three members, two terms": {Bounds{Members: 3, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true}, false},
		"without pre-vote":         {Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1, NoPreVote: true}, false},
		"handovers, two terms":     {Bounds{Members: 3, Terms: 2, Beats: 1, NoPreVote: true, NoHints: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.large {
				effort.Long(t)
			}
			t.Parallel()
			been := everything(t, c.bounds)
			random := rand.New(rand.NewPCG(1, 2))
			places := map[place]bool{}
			for range walks {
				w := newWalk(c.bounds, func() bool { return random.IntN(10) == 0 })
				w.hangs = func() bool { return random.IntN(10) == 0 }
				for range 60 {
					if w.step(random); w.beyond {
						break
					}
					if w.leadsAgain() {
						continue
					}
					at := w.place()
					require.True(t, places[at] || been.at(&at, w.victories()...), "the explorer has never been where %+v", at)
					places[at] = true
				}
			}
			t.Logf("the walks got to %d places; the explorer kept %d states", len(places), been.states.count)
			require.Greater(t, len(places), 70, "the walks do not get about")
		})
	}
}

// place is the state of all nodes, without what does not matter.
type place [mostMembers]node

// been is where an explorer has been: for every message, and for every node that a member has been or could have
// become silently, the set of states.
type been struct {
	*worker
	in   [mostMembers]map[nodeID][]uint64
	said map[messageID][]uint64
}

// everything is all that the explorer reaches.
func everything(t *testing.T, b Bounds) *been {
	t.Helper()
	require.NoError(t, b.Check())
	x := &been{worker: searched(t, b, 0)}
	x.said = map[messageID][]uint64{}
	for k := range x.states.count {
		s := x.states.state(int32(k))
		for id := range s.sent.all {
			note(x.said, id, k, x.states.count)
		}
	}
	for i := range b.Members {
		x.in[i] = map[nodeID][]uint64{}
		for k := range x.states.count {
			s := x.states.state(int32(k))
			key := x.key(&s, i)
			for _, at := range x.model.silentClosure(&key) {
				note(x.in[i], at.node, k, x.states.count)
			}
		}
	}
	return x
}

// note adds a state to those of a node or a message.
func note[T comparable](of map[T][]uint64, id T, at, all int) {
	if of[id] == nil {
		of[id] = make([]uint64, all/64+1)
	}
	of[id][at/64] |= 1 << (at % 64)
}

// at says whether the explorer has been at a place, in any seats, with all these messages sent.
func (x *been) at(p *place, said ...message) bool {
	return slices.ContainsFunc(x.model.renamings, func(r renaming) bool {
		var sets [][]uint64
		for i := range x.options.Members {
			n := p[i].renamed(r)
			sets = append(sets, x.in[n.index()][x.model.byNode[n]])
		}
		for _, msg := range said {
			id, known := x.model.byMessage[msg.renamed(r)]
			if !known {
				return false
			}
			sets = append(sets, x.said[id])
		}
		return meet(sets)
	})
}

// meet says whether some state is in all of these sets.
func meet(sets [][]uint64) bool {
	for k := range sets[0] {
		all := ^uint64(0)
		for _, set := range sets {
			if set == nil {
				return false
			}
			all &= set[k]
		}
		if all != 0 {
			return true
		}
	}
	return false
}

// walk is a run of machines that know nothing of the explorer.
type walk struct {
	bounds Bounds
	dies   func() bool // whether a process does in the save under way
	hangs  func() bool // whether a leader's LedgerEnd does
	rules  []protocol.Rules
	nodes  []node
	sent   []message
	beyond bool
	base   [mostMembers]uint32 // each one's newest beat before it led
	ballot [mostMembers]uint32 // each one's newest round of votes
	led    [mostMembers]uint8  // the terms that each one has led, in any incarnation

	// The step under way. It implements protocol.Effects.
	at      int
	from    memberstate.Seat
	session protocol.Session
	duties  protocol.Duties
}

func newWalk(b Bounds, dies func() bool) *walk {
	w := &walk{bounds: b, dies: dies, rules: rulesOf(&b), nodes: make([]node, b.Members)}
	for i := range w.nodes {
		w.nodes[i] = newNode(i)
		w.start(i)
	}
	return w
}

func (w *walk) start(i int) {
	n := &w.nodes[i]
	s := protocol.NewSession(&w.rules[i], n.session.HardState, n.ledger.end(), n.session.Term)
	n.session, n.driver, n.promised, w.ballot[i] = s.Snapshot(), driver{}, 0, 0
	w.give(i, protocol.Input{Kind: protocol.Start}, memberstate.Nobody)
}

// place is the state of all nodes once every Lead whose context has ended has returned: a node whose engine takes its
// time does nothing that the explorer does not have the others do.
func (w *walk) place() (p place) {
	late := *w
	late.nodes, late.sent = slices.Clone(w.nodes), nil
	for i := range late.nodes {
		if late.nodes[i].driver.ended {
			late.leadReturns(i)
		}
		p[i] = late.nodes[i]
		p[i].canonize(&w.rules[i])
		p[i].session.Machine = p[i].session.WithoutRetries()
		if w.bounds.Ability {
			p[i].session.Machine = p[i].session.WithoutAbility()
		}
	}
	return p
}

// victories note the leaders of all terms that not all members have left.
func (w *walk) victories() (all []message) {
	least := slices.MinFunc(w.nodes, func(a, b node) int { return cmp.Compare(a.session.Term, b.session.Term) }).session.Term
	for term := least; term <= memberstate.Term(w.bounds.Terms); term++ {
		for i := range w.nodes {
			if w.led[i]>>term&1 != 0 {
				all = append(all, victory(seatOf(i), term))
			}
		}
	}
	return all
}

// leadsAgain says whether a process leads that has led before. Its beats go on from their number, and the
// explorer's begin at 1.
func (w *walk) leadsAgain() bool {
	return slices.ContainsFunc(w.nodes, func(n node) bool { return n.session.Role == memberstate.Leader && w.base[n.index()] > 0 })
}

// step makes anything happen to any member.
func (w *walk) step(random *rand.Rand) {
	i := random.IntN(w.bounds.Members)
	other := seatOf(random.IntN(w.bounds.Members))
	b := &w.bounds
	switch what := random.IntN(20); {
	case what == 0 && !b.NoCrash:
		w.start(i)
	case what == 1 && !b.NoTransfer:
		w.give(i, protocol.Input{Kind: protocol.Stand}, memberstate.Nobody)
	case what == 2 && !b.NoTransfer:
		w.resign(i)
	case what == 3 && !b.NoTransfer && other != seatOf(i):
		w.transfer(i, other)
	case what == 4 && !b.NoHints && other != seatOf(i):
		w.give(i, protocol.Input{Kind: protocol.PeerLost, Seat: other}, memberstate.Nobody)
	case what == 5:
		w.write(i)
	case what == 9:
		w.leadReturns(i)
	case what == 10 && b.Withdrawals:
		w.withdraw(i, random.IntN(2) == 0)
	case what <= 12 && what > 10 && b.Pauses:
		w.pauseEnds(i, what == 11)
	case what <= 14 && what > 12 && b.Ability:
		w.change(i, inabilities[random.IntN(len(inabilities))])
	case what <= 8:
		w.ring(i)
	default:
		w.deliver(random)
	}
}

func (w *walk) ring(i int) {
	w.give(i, protocol.Input{Kind: protocol.Ring, Number: alarmOf(&w.nodes[i].session.Machine)}, memberstate.Nobody)
}

// deliver delivers a message, a new one more often than an old one.
func (w *walk) deliver(random *rand.Rand) {
	if len(w.sent) == 0 {
		return
	}
	recent := max(1, len(w.sent)/(1+random.IntN(8)))
	msg := w.sent[len(w.sent)-1-random.IntN(recent)]
	to := msg.to
	if to == memberstate.Nobody {
		to = seatOf(random.IntN(w.bounds.Members))
	}
	if msg.isFor(to) {
		w.arrive(int(to)-1, &msg)
	}
}

func (w *walk) arrive(i int, msg *message) {
	switch {
	case msg.acknowledges(): // it counts as soon as it is sent
	case msg.engine:
		w.hear(i, msg)
	default:
		w.give(i, protocol.Input{Kind: protocol.Receive, Message: msg.body}, msg.body.From)
	}
}

func (w *walk) write(i int) {
	n := &w.nodes[i]
	if n.session.Role == memberstate.Leader && n.promised <= n.session.Term && n.ledger.len() < w.bounds.Entries {
		n.ledger = n.ledger.with(n.session.Term)
		w.sent = append(w.sent, message{engine: true, ledger: n.ledger, body: protocol.Message{
			From: n.seat, Leader: n.seat, Body: rpc.Body{Kind: rpc.Heartbeat, Term: n.session.Term},
		}})
	}
}

func (w *walk) hear(i int, msg *message) {
	w.give(i, protocol.Input{Kind: protocol.Heard, Term: msg.body.Term, Seat: msg.body.Leader}, memberstate.Nobody)
	n := &w.nodes[i]
	follows := n.session.Term == msg.body.Term && n.session.Leader == msg.body.Leader && n.promised <= msg.body.Term
	if !follows {
		return
	}
	if !n.ledger.holds(msg.ledger) {
		n.ledger = msg.ledger
	}
	w.sent = append(w.sent, message{to: msg.body.From, engine: true, ledger: msg.ledger, body: protocol.Message{
		From: n.seat, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: msg.body.Term},
	}})
}

// give gives a session an input, and takes the steps that follow at once.
func (w *walk) give(i int, in protocol.Input, from memberstate.Seat) {
	w.happens(i, from, func(x *protocol.Step) protocol.Need {
		x.Input = in
		return w.session.Begin(&w.rules[i], w.nodes[i].time.now, x, w)
	})
}

// attend makes a session go on with what was changed beside its steps.
func (w *walk) attend(i int, change func()) {
	w.happens(i, memberstate.Nobody, func(x *protocol.Step) protocol.Need {
		change()
		return w.session.Attend(&w.rules[i], w.nodes[i].time.now, x, w)
	})
}

// happens is a step of a session from its beginning to its end, or to the death of its process.
func (w *walk) happens(i int, from memberstate.Seat, begin func(*protocol.Step) protocol.Need) {
	n, r, x := &w.nodes[i], &w.rules[i], protocol.Step{}
	before := n.session.Role
	w.at, w.from, w.session = i, from, n.session.Session(&w.duties)
	for need := begin(&x); need != protocol.NeedNothing; {
		switch need {
		case protocol.NeedLedger:
			n.promised = max(n.promised, x.Output.LedgerTerm)
			if w.bounds.Ability && w.session.Role == memberstate.Leader && x.Output.LedgerTerm <= w.session.Term && w.hangs() {
				w.session.LosesOffice(&x, w)
			}
			need = w.session.Ledger(r, n.time.now, &x, w, n.ledger.end(), anyTerm)
		case protocol.NeedSave:
			if !w.bounds.NoCrash && w.dies() { // before it says anything
				n.session = w.session.Snapshot()
				w.start(i)
				return
			}
			need = w.session.Saved(r, n.time.now, &x, w)
		case protocol.NeedNothing, protocol.NeedStop:
			panic(x.Output.Err)
		}
	}
	n.session = w.session.Snapshot()
	w.beyond = w.beyond || n.session.Term > memberstate.Term(w.bounds.Terms)
	if n.session.Role != memberstate.Leader {
		w.base[i] = n.session.Beat()
	}
	if n.session.Role == memberstate.Leader && before != memberstate.Leader {
		w.led[i] |= 1 << min(n.session.Term, mostTerms)
	}
}

// leadReturns makes an engine's Lead return, late or early.
func (w *walk) leadReturns(i int) {
	o := &w.nodes[i].driver
	if early := !o.ended; o.runs && (!early || w.bounds.Withdrawals) {
		o.runs, o.ended = false, false
		w.attend(i, func() { w.session.LeadReturned(o.lead, early) })
	}
}

// pauseEnds makes an engine answer the pause that it was asked for.
func (w *walk) pauseEnds(i int, paused bool) {
	if o := &w.nodes[i].driver; o.pause != 0 {
		number := o.pause
		o.pause, o.paused = 0, paused
		w.attend(i, func() { w.session.PauseEnded(number, paused) })
	}
}

// change changes a member's ability to lead, or why it is not able.
func (w *walk) change(i int, to protocol.Inability) {
	now := w.nodes[i].session.Inability()
	if to == protocol.NotAbleHold && now == protocol.Able {
		return
	}
	if to == now {
		switch to {
		case protocol.NotAbleUnhealthy:
			to = protocol.NotAbleOrdered
		case protocol.NotAbleDisk:
			to = protocol.NotAblePause
		default: // nothing changes
		}
	}
	w.give(i, protocol.Input{Kind: protocol.Ability, Inability: to}, memberstate.Nobody)
}

func (w *walk) transfer(i int, to memberstate.Seat) {
	s := w.nodes[i].session.Session(&w.duties)
	transfer, resign := s.Ordered()
	if s.Handover().Phase == protocol.NoHandover && !transfer && !resign {
		w.ordered(i, 1, 0, protocol.Input{Kind: protocol.Transfer, Seat: to})
	}
}

func (w *walk) resign(i int) {
	s := w.nodes[i].session.Session(&w.duties)
	transfers := 0
	if transfer, _ := s.Ordered(); transfer {
		transfers = 1
	}
	w.ordered(i, transfers, 1, protocol.Input{Kind: protocol.Resign})
}

// ordered gives a session an order, when that many of each kind stand.
func (w *walk) ordered(i, transfers, resignations int, in protocol.Input) {
	w.happens(i, memberstate.Nobody, func(x *protocol.Step) protocol.Need {
		w.session.Orders(transfers, resignations)
		x.Input = in
		return w.session.Begin(&w.rules[i], w.nodes[i].time.now, x, w)
	})
}

// withdraw withdraws the orders of one kind.
func (w *walk) withdraw(i int, resignations bool) {
	s := w.nodes[i].session.Session(&w.duties)
	switch transfer, resign := s.Ordered(); {
	case resignations && resign && transfer:
		w.attend(i, func() { w.session.Orders(1, 0) })
	case resignations && resign, !resignations && transfer && !resign:
		w.attend(i, func() { w.session.Orders(0, 0) })
	case transfer && resign:
		w.attend(i, func() { w.session.Orders(0, 1) })
	}
}

// alarmOf is the number of a machine's newest alarm, which only the machine knows: the one that it does not take for a
// stale one.
func alarmOf(m *protocol.Machine) uint32 {
	for number := uint32(1); ; number++ {
		trial := *m
		var out protocol.Output
		trial.Step(new(protocol.Rules), &protocol.Input{Kind: protocol.Ring, Number: number}, &out)
		if out.Dropped != protocol.DropStaleAlarm {
			return number
		}
	}
}

// Reply answers the message that was the input.
func (w *walk) Reply(m *protocol.Message) { w.say(w.from, m) }

// Send sends a message to all others, or to one.
func (w *walk) Send(to memberstate.Set, m *protocol.Message) {
	if m.Kind == rpc.VoteRequest {
		w.ballot[w.at] = m.Round
	}
	w.beyond = w.beyond || m.Term > memberstate.Term(w.bounds.Terms) || m.Kind == rpc.Heartbeat && m.Round > uint32(w.bounds.Beats)
	for seat := range to.Seats() {
		w.say(seat, m)
	}
}

func (w *walk) say(to memberstate.Seat, m *protocol.Message) {
	body := *m
	body.From, body.RoundTrip = seatOf(w.at), 0
	w.sent = append(w.sent, message{to: to, body: body})
}

// Hold, Lead and EndLead note the state of the driver.
func (w *walk) Hold(until time.Duration) { w.nodes[w.at].driver.hold = until }

func (w *walk) Lead(term memberstate.Term) {
	o := &w.nodes[w.at].driver
	o.lead, o.runs, o.ended = term, true, false
}
func (w *walk) EndLead(memberstate.Term) { w.nodes[w.at].driver.ended = true }

// Pause makes the engine pause its writes, at once or later. Once a handover is over they go on, and no order stands.
func (w *walk) Pause(_ memberstate.Term, number uint32) {
	o := &w.nodes[w.at].driver
	if w.bounds.Pauses {
		o.pause = number
		return
	}
	o.paused = true
	w.session.PauseEnded(number, true)
}

func (w *walk) Resume() { w.nodes[w.at].driver.pause, w.nodes[w.at].driver.paused = 0, false }
func (w *walk) Settle() { w.session.Orders(0, 0) }

// Nothing else takes effect here.
func (w *walk) Before(*protocol.Input)             {}
func (w *walk) After(*protocol.Step)               {}
func (w *walk) Show(protocol.View)                 {}
func (w *walk) Done()                              {}
func (w *walk) Arm(protocol.Alarm)                 {}
func (w *walk) Judge(rpc.Mark, protocol.Judgement) {}
func (w *walk) Drop(protocol.Drop)                 {}
