package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The explorer is only as good as its idea of what a state is. So machines that know
// nothing of it, with rounds that are numbered as they are, take random walks through the
// same bounds; and wherever they get to, the explorer must have been.
func TestTheExplorerHasBeenWhereRandomRunsGet(t *testing.T) {
	walks := 10_000
	if testing.Short() {
		walks = 1000
	}
	for name, b := range map[string]Bounds{
		"two members, two terms":   {Members: 2, Terms: 2, Beats: 2, Entries: 1},
		"three members":            {Members: 3, Terms: 1, Beats: 1},
		"three members, two terms": {Members: 3, Terms: 2, Beats: 1, NoTransfer: true, NoHints: true},
		"without pre-vote":         {Members: 3, Terms: 1, Beats: 1, Entries: 1, NoPreVote: true},
	} {
		t.Run(name, func(t *testing.T) {
			been := everything(t, b)
			random := rand.New(rand.NewPCG(1, 2))
			places := map[place]bool{}
			for range walks {
				w := newWalk(b, random)
				for range 60 {
					if w.step(); w.beyond {
						break
					}
					if w.leadsAgain() {
						continue
					}
					at := w.place()
					require.True(t, places[at] || been.at(&at), "the explorer has never been where %+v", at)
					places[at] = true
				}
			}
			t.Logf("the walks got to %d places; the explorer kept %d states", len(places), been.states.count)
			require.Greater(t, len(places), 100, "the walks do not get about")
		})
	}
}

// place is what all nodes are, but for what does not matter.
type place [mostMembers]node

// been is where an explorer has been: for every node that a member has been, or could have
// become silently, in which states, as a set of their numbers.
type been struct {
	*worker
	in [mostMembers]map[nodeID][]uint64
}

// everything is where the explorer gets to.
func everything(t *testing.T, b Bounds) *been {
	t.Helper()
	require.NoError(t, b.Check())
	x := &been{worker: newSearch(Options{Bounds: b})}
	x.begin()
	x.work(t.Context())
	require.Nil(t, x.result.Violation)
	for i := range b.Members {
		x.in[i] = map[nodeID][]uint64{}
		for k := range x.states.count {
			s := x.states.state(int32(k))
			key := x.key(&s, i)
			for _, at := range x.model.silently(&key) {
				if x.in[i][at.node] == nil {
					x.in[i][at.node] = make([]uint64, x.states.count/64+1)
				}
				x.in[i][at.node][k/64] |= 1 << (k % 64)
			}
		}
	}
	return x
}

// at says whether the explorer has been at a place, whoever is who.
func (x *been) at(p *place) bool {
	return slices.ContainsFunc(x.model.renamings, func(r renaming) bool {
		var states []uint64
		for i := range x.options.Members {
			n := p[i].renamed(r)
			in := x.in[n.index()][x.model.byNode[n]]
			if states == nil {
				states = slices.Clone(in)
			}
			for k := range states {
				states[k] &= append(in, make([]uint64, len(states)-len(in))...)[k]
			}
		}
		return slices.ContainsFunc(states, func(word uint64) bool { return word != 0 })
	})
}

// walk is a random run.
type walk struct {
	bounds Bounds
	random *rand.Rand
	rules  []elector.Rules
	nodes  []node
	sent   []message
	beyond bool
	base   [mostMembers]uint32 // each one's newest beat before it led

	// The step under way. It implements elector.Effects.
	at   int
	from memberstate.Seat
	mute bool // the process is dead before it says anything
}

func newWalk(b Bounds, random *rand.Rand) *walk {
	w := &walk{bounds: b, random: random, rules: rulesOf(&b), nodes: make([]node, b.Members)}
	for i := range w.nodes {
		w.nodes[i].seat = seatOf(i)
		w.start(i)
	}
	return w
}

func (w *walk) start(i int) {
	n := &w.nodes[i]
	n.machine, n.promised = elector.NewMachine(&w.rules[i], n.machine.HardState), 0
	w.give(i, elector.Input{Kind: elector.Start}, memberstate.Nobody)
}

func (w *walk) place() (p place) {
	for i := range w.nodes {
		p[i] = w.nodes[i]
		p[i].canonize(&w.rules[i])
	}
	return p
}

// leadsAgain says whether a process leads that has led before. Its beats are numbered on,
// and the explorer's from 1.
func (w *walk) leadsAgain() bool {
	return slices.ContainsFunc(w.nodes, func(n node) bool { return n.machine.Role == memberstate.Leader && w.base[n.index()] > 0 })
}

// step has anything happen to anyone.
func (w *walk) step() {
	i := w.random.IntN(w.bounds.Members)
	other := seatOf(w.random.IntN(w.bounds.Members))
	b := &w.bounds
	switch what := w.random.IntN(20); {
	case what == 0 && !b.NoCrash:
		w.start(i)
	case what == 1 && !b.NoTransfer:
		w.give(i, elector.Input{Kind: elector.Stand}, memberstate.Nobody)
	case what == 2 && !b.NoTransfer:
		w.give(i, elector.Input{Kind: elector.Resign}, memberstate.Nobody)
	case what == 3 && !b.NoTransfer && other != seatOf(i):
		w.give(i, elector.Input{Kind: elector.Transfer, Seat: other}, memberstate.Nobody)
	case what == 4 && !b.NoHints && other != seatOf(i):
		w.give(i, elector.Input{Kind: elector.PeerLost, Seat: other}, memberstate.Nobody)
	case what == 5:
		w.write(i)
	case what <= 8:
		w.give(i, elector.Input{Kind: elector.Ring, Number: alarmOf(&w.nodes[i].machine)}, memberstate.Nobody)
	default:
		w.deliver()
	}
}

// deliver has a message arrive, a new one more often than an old one.
func (w *walk) deliver() {
	if len(w.sent) == 0 {
		return
	}
	recent := max(1, len(w.sent)/(1+w.random.IntN(8)))
	msg := w.sent[len(w.sent)-1-w.random.IntN(recent)]
	to := msg.to
	if to == memberstate.Nobody {
		to = seatOf(w.random.IntN(w.bounds.Members))
	}
	if !msg.isFor(to) {
		return
	}
	if i := int(to) - 1; msg.engine {
		w.hear(i, &msg)
	} else {
		w.give(i, elector.Input{Kind: elector.Receive, Message: msg.body}, msg.body.From)
	}
}

func (w *walk) write(i int) {
	n := &w.nodes[i]
	if n.machine.Role == memberstate.Leader && n.promised <= n.machine.Term && n.ledger.len() < w.bounds.Entries {
		n.ledger = n.ledger.with(n.machine.Term)
		w.sent = append(w.sent, message{engine: true, ledger: n.ledger, body: elector.Message{
			From: n.seat, Leader: n.seat, Body: rpc.Body{Kind: rpc.Heartbeat, Term: n.machine.Term},
		}})
	}
}

func (w *walk) hear(i int, msg *message) {
	w.give(i, elector.Input{Kind: elector.Heard, Term: msg.body.Term, Seat: msg.body.Leader}, memberstate.Nobody)
	n := &w.nodes[i]
	follows := n.machine.Term == msg.body.Term && n.machine.Leader == msg.body.Leader && n.promised <= msg.body.Term
	if follows && !n.ledger.holds(msg.ledger) {
		n.ledger = msg.ledger
	}
}

// give gives a machine an input, and what follows from it at once.
func (w *walk) give(i int, in elector.Input, from memberstate.Seat) {
	n := &w.nodes[i]
	before := n.machine.Role
	w.at, w.from = i, from
	x := elector.Execution{Input: in}
	need := x.Begin(&n.machine, &w.rules[i], w)
	for need == elector.NeedLedger {
		n.promised = max(n.promised, x.Output.LedgerTerm)
		need = x.Ledger(&n.machine, &w.rules[i], w, n.ledger.end())
	}
	w.beyond = w.beyond || n.machine.Term > memberstate.Term(w.bounds.Terms)
	if n.machine.Role != memberstate.Leader {
		w.base[i] = n.machine.Beat()
	}
	dies := need == elector.NeedSave && !w.bounds.NoCrash && w.random.IntN(10) == 0
	if !dies && n.machine.Role == memberstate.Leader && before != memberstate.Leader {
		n.led |= 1 << min(n.machine.Term, mostTerms)
	}
	if need == elector.NeedSave {
		w.mute = dies
		x.Saved(w)
		w.mute = false
	}
	phase, _ := n.machine.Handover()
	switch {
	case dies:
		w.start(i)
	case phase == elector.Pausing:
		w.give(i, elector.Input{Kind: elector.Paused}, memberstate.Nobody)
	case n.machine.Serving() && n.machine.Role != memberstate.Leader:
		w.give(i, elector.Input{Kind: elector.Served, Number: w.nodes[i].machine.Beat()}, memberstate.Nobody)
	}
}

// alarmOf is the number of a machine's newest alarm, which only it knows: the one that it
// does not take for a stale one.
func alarmOf(m *elector.Machine) uint32 {
	for number := uint32(1); ; number++ {
		trial := *m
		var out elector.Output
		trial.Step(new(elector.Rules), &elector.Input{Kind: elector.Ring, Number: number}, &out)
		if out.Dropped != elector.DropStaleAlarm {
			return number
		}
	}
}

// Reply answers the message that was the input.
func (w *walk) Reply(m *elector.Message) { w.say(w.from, m) }

// Send sends a message to all others, or to one.
func (w *walk) Send(to memberstate.Set, m *elector.Message) {
	w.beyond = w.beyond || m.Term > memberstate.Term(w.bounds.Terms) || m.Kind == rpc.Heartbeat && m.Round > uint32(w.bounds.Beats)
	for seat := range to.Seats() {
		w.say(seat, m)
	}
}

func (w *walk) say(to memberstate.Seat, m *elector.Message) {
	if w.mute {
		return
	}
	body := *m
	body.From, body.RoundTrip = seatOf(w.at), 0
	w.sent = append(w.sent, message{to: to, body: body})
}

// Nothing else takes effect here.
func (w *walk) Withdraw()                         {}
func (w *walk) Publish()                          {}
func (w *walk) Arm(elector.Alarm)                 {}
func (w *walk) Judge(rpc.Mark, elector.Judgement) {}
func (w *walk) Drop(elector.Drop)                 {}
