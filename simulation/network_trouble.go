// Troubles of the network: links that are cut or slow for a while.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/simulation/trace"
)

// trouble is a set of links that are cut, or slow, for a while. A flapping link is cut
// and whole alternately.
type trouble struct {
	links [][2]int
	slow  time.Duration // how much longer a message takes; 0: the links are cut
	flaps int           // how often the state still changes
	lasts time.Duration // each time
	band  int           // its place in the trace
	over  bool
	ended bool // no event refers to it any more
}

// begin begins a trouble.
func (n *network) begin(t trouble, fault Fault) {
	t.band = n.world.tracer.began(trace.Band{Kind: trace.FaultBand, Node: -1, Links: t.links, What: fault.String()})
	n.apply(&t, 1)
	place := slices.IndexFunc(n.troubles, func(t trouble) bool { return t.over && t.ended })
	if place < 0 {
		place = len(n.troubles)
		n.troubles = append(n.troubles, trouble{})
	}
	n.troubles[place] = t
	n.wait(uint32(place))
}

func (n *network) wait(number uint32) {
	lasts := n.troubles[number].lasts
	n.world.events.Push(n.world.now+int64(lasts), newEvent(troubleEnds, 0, number))
}

// apply makes the links worse (1) or better again (-1).
func (n *network) apply(t *trouble, sign int) {
	for _, pair := range t.links {
		l := &n.links[pair[0]][pair[1]]
		if t.slow > 0 {
			l.slow += time.Duration(sign) * t.slow
		} else {
			l.cuts += uint8(sign)
		}
	}
}

// end is called when a trouble has lasted. A flapping link is then whole for as long as it was
// cut.
func (n *network) end(number uint32) {
	t := &n.troubles[number]
	if t.over || t.flaps == 0 {
		n.heal(t)
		t.ended = true
		return
	}
	t.flaps--
	if t.flaps%2 == 1 {
		n.apply(t, -1)
	} else {
		n.apply(t, 1)
	}
	n.wait(number)
}

func (n *network) heal(t *trouble) {
	if t.over {
		return
	}
	if t.flaps%2 == 0 {
		n.apply(t, -1)
	}
	t.over = true
	n.world.tracer.over(t.band)
}

// healAll ends all troubles. A message that arrives late does not hold up those sent after it,
// because connections are new.
func (n *network) healAll() {
	for i := range n.troubles {
		n.heal(&n.troubles[i])
	}
	for i := range n.links {
		for j := range n.links[i] {
			n.links[i][j].damage, n.links[i][j].last = 0, 0
		}
	}
}
