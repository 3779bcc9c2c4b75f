package explore

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Every reduction could leave something out. So within the smallest bounds there is another search, which has none:
// no step waits or is taken at once, no state covers another, seats matter, no message is ever forgotten, and rounds
// keep their numbers. The explorer must know every state that it reaches, with everything that is acknowledged by then.
//
// The other direction is not asked, because the explorer reaches more: it lets every stale message arrive that could
// have been sent, takes members for alike even where the code tells them apart, and has any number of rounds, where
// this search has a few. This search has one thing in common with the explorer: of two machines that differ only by
// what protocol.Machine.Canonical removes, it looks at one, as it is, unless they differ by the numbers of rounds and beats.
func TestTheExplorerCoversASearchWithoutReductions(t *testing.T) {
	effort.Alone(t)
	few := Bounds{Members: 2, Terms: 1, Beats: 1, NoTransfer: true, NoHints: true}
	for name, c := range map[string]struct {
		change func(*Bounds)
		rounds uint32
		large  bool
	}{
		"crashes and pre-vote":   {func(*Bounds) {}, 2, true},
		"a ledger and pre-vote":  {func(b *Bounds) { b.Entries, b.NoCrash = 1, true }, 2, true},
		"handovers and pre-vote": {func(b *Bounds) { b.NoTransfer, b.NoCrash = false, true }, 2, true},
		"all but pre-vote":       {func(b *Bounds) { b.Entries, b.NoPreVote, b.NoTransfer, b.NoHints = 1, true, false, false }, 1, false},
		"two terms":              {func(b *Bounds) { b.Terms, b.NoPreVote = 2, true }, 1, true},
		"two terms, a ledger":    {func(b *Bounds) { b.Terms, b.Entries, b.NoPreVote = 2, 1, true }, 1, true},
		"a hang":                 {func(b *Bounds) { b.NoPreVote, b.NoCrash, b.Ability = true, true, true }, 1, false},
		"hangs":                  {func(b *Bounds) { b.NoPreVote, b.NoCrash, b.Ability = true, true, true }, 1, true},
		"an engine is not well":  {func(b *Bounds) { b.NoPreVote, b.NoCrash, b.Ability = true, true, true }, 1, true},
		"three members":          {func(b *Bounds) { b.Members, b.NoPreVote, b.NoCrash = 3, true, true }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.large {
				effort.Long(t)
			}
			t.Parallel()
			bounds := few
			c.change(&bounds)
			been := everything(t, bounds)
			x := newPlainSearch(bounds, c.rounds)
			x.reasons = reasons[name]
			require.Empty(t, x.search())
			places := map[plainState]bool{}
			for at := range x.states {
				acks := x.load(at)
				here := x.states[at].with(acks)
				if places[here] || x.leadsAgain() {
					continue
				}
				places[here] = true
				p := x.place()
				require.True(t, been.at(&p, append(x.victories(), x.listed(acks)...)...), "the explorer has never been where %+v", p)
			}
			t.Logf("%d states without reductions, %d that differ by nodes or acknowledgements; the explorer kept %d", len(x.states), len(places), been.states.count)
			assert.Greater(t, len(x.states), been.states.count)
		})
	}
}

// reasons are what can be said of a member in a search in which abilities change: all of them at once are too much for a
// search without reductions.
var reasons = map[string][]protocol.Inability{
	"a hang":                {protocol.NotAbleDisk},
	"hangs":                 {protocol.Able, protocol.NotAbleDisk},
	"an engine is not well": {protocol.NotAbleUnhealthy},
}

// The explorer finds the violations of such a search, too.
func TestASearchWithoutReductionsFindsTheSame(t *testing.T) {
	assert.Equal(t, invariant.WonByQuorum, broken(t, 1, 2, 3).Invariant)
	x := newPlainSearch(Bounds{Members: 3, Terms: 1, Beats: 1, NoTransfer: true, NoHints: true}, 2)
	for i := range x.rules {
		x.rules[i].Voters = memberstate.SetOf(seatOf(i))
	}
	assert.Equal(t, "two have led a term", x.search())
}

// plainSearch is a search without reductions. The rounds of votes of a process are bounded, because they have numbers.
type plainSearch struct {
	*walk
	rounds   uint32
	reasons  []protocol.Inability // why members are not able, or able again
	names    numbering[plainNode]
	like     []node // by name: the first that had it, with its alarms as they are
	messages numbering[message]
	acks     plainSaid
	states   []plainState
	known    map[plainState]bool
	saves    int  // of the step under way, so far
	deadly   int  // which of them its process dies in; 0: none
	vain     bool // LedgerEnd hangs in the step under way
	hung     bool // a leader's step has waited for it
}

// plainNode is a node without the numbers of its alarms, which have no end.
type plainNode struct {
	node         node
	ballot, base uint32
	beat         uint32
	led          uint8
}

// plainState is the state of the group.
type plainState struct {
	nodes [3]uint16
	said  plainSaid
}

// plainSaid is a set of messages.
type plainSaid [6]uint64

func newPlainSearch(b Bounds, rounds uint32) *plainSearch {
	x := &plainSearch{rounds: rounds, known: map[plainState]bool{}}
	x.walk = newWalk(b, func() bool {
		x.saves++
		return x.saves == x.deadly
	})
	x.hangs = func() bool {
		x.hung = true
		return x.vain
	}
	return x
}

// search visits all states, and returns the violation.
func (x *plainSearch) search() (violated string) {
	var first plainState
	for i := range x.nodes {
		first.nodes[i] = x.name(i)
	}
	x.enter(&first)
	for at := 0; at < len(x.states) && violated == ""; at++ {
		violated = x.wrong(at)
		for i := range x.bounds.Members {
			x.expand(at, i)
		}
	}
	return violated
}

// load sets the nodes to those of a state, and returns the acknowledgements in it.
func (x *plainSearch) load(at int) (acks plainSaid) {
	s := &x.states[at]
	for i := range x.nodes {
		name := s.nodes[i]
		of := &x.names.list[name]
		x.nodes[i], x.base[i], x.ballot[i], x.led[i] = x.like[name], of.base, of.ballot, of.led
	}
	x.sent, x.beyond = nil, false
	for i := range acks {
		acks[i] = s.said[i] & x.acks[i]
	}
	return acks
}

// name is the number of a node as it is.
func (x *plainSearch) name(i int) uint16 {
	n := x.nodes[i]
	n.canonize(&x.rules[i])
	id := x.names.number(&plainNode{n, x.ballot[i], x.base[i], x.nodes[i].session.Beat(), x.led[i]})
	if id == len(x.like) {
		x.like = append(x.like, x.nodes[i])
	}
	return uint16(id)
}

func (x *plainSearch) enter(s *plainState) {
	if !x.known[*s] {
		x.known[*s] = true
		x.states = append(x.states, *s)
	}
}

// expand takes all steps of a node.
func (x *plainSearch) expand(at, i int) {
	b := &x.bounds
	give := func(in protocol.Input) { x.take(at, i, func() { x.give(i, in, memberstate.Nobody) }) }
	if !b.NoCrash {
		x.take(at, i, func() { x.start(i) })
	}
	if !b.NoTransfer {
		give(protocol.Input{Kind: protocol.Stand})
		x.take(at, i, func() { x.resign(i) })
	}
	x.take(at, i, func() { x.leadReturns(i) })
	for other := range b.Members {
		if other != i && !b.NoTransfer {
			x.take(at, i, func() { x.transfer(i, seatOf(other)) })
		}
		if other != i && !b.NoHints {
			give(protocol.Input{Kind: protocol.PeerLost, Seat: seatOf(other)})
		}
	}
	for _, why := range x.reasons {
		if b.Ability {
			x.take(at, i, func() { x.change(i, why) })
		}
	}
	x.take(at, i, func() { x.write(i) })
	x.take(at, i, func() { x.ring(i) })
	said := x.states[at].said
	for _, msg := range x.listed(said) {
		if msg.isFor(seatOf(i)) {
			x.take(at, i, func() { x.arrive(i, &msg) })
		}
	}
}

// take enters the results of a step, and of one in which LedgerEnd hangs.
func (x *plainSearch) take(at, i int, step func()) {
	x.vain, x.hung = false, false
	x.takeOnce(at, i, step)
	if x.hung {
		x.vain = true
		x.takeOnce(at, i, step)
	}
}

// takeOnce enters the result of a step, and those of a crash in each of its saves.
func (x *plainSearch) takeOnce(at, i int, step func()) {
	for x.deadly = 0; ; x.deadly++ {
		x.load(at)
		x.saves = 0
		if step(); x.deadly > x.saves {
			return
		}
		s := x.states[at]
		for k := range x.sent {
			id := x.messages.number(&x.sent[k])
			s.said.add(id)
			if x.sent[k].acknowledges() {
				x.acks.add(id)
			}
		}
		if s.nodes[i] = x.name(i); !x.beyond && x.ballot[i] <= x.rounds {
			x.enter(&s)
		}
	}
}

// wrong returns the violation: two members have led a term, or a leader lacks an entry that a quorum has acknowledged in
// an earlier term.
func (x *plainSearch) wrong(at int) string {
	acks := x.listed(x.load(at))
	for i := range x.nodes {
		n := &x.nodes[i]
		for j := range i {
			if x.led[i]&x.led[j] != 0 {
				return "two have led a term"
			}
		}
		for _, a := range acks {
			holders := memberstate.SetOf(a.to)
			for _, b := range acks {
				if b.to == a.to && b.ledger == a.ledger && b.body.Term == a.body.Term {
					holders = holders.With(b.body.From)
				}
			}
			quorum := memberstate.Quorum(x.rules[i].All)
			if a.ledger.end().Term == a.body.Term && holders.Len() >= quorum && n.session.Role == memberstate.Leader && n.session.Term > a.body.Term && !n.ledger.holds(a.ledger) {
				return "a term is led without what was committed"
			}
		}
	}
	return ""
}

func (s *plainSaid) add(id int) { s[id/64] |= 1 << (id % 64) }

// with is a state with these messages instead of its own.
func (s plainState) with(said plainSaid) plainState {
	s.said = said
	return s
}

// listed are the messages of a set.
func (x *plainSearch) listed(said plainSaid) (all []message) {
	for i, word := range said {
		for ; word != 0; word &= word - 1 {
			all = append(all, x.messages.list[i*64+bits.TrailingZeros64(word)])
		}
	}
	return all
}
