// Memory that groups need only while their steps wait. It is kept for reuse, because steps wait often
// and groups may be many.

package protocol

import "github.com/hustings/hustings/memberstate"

// spare is what no group needs now.
type spare struct {
	steps      []*pending
	transients []*transient
	desks      []*desk
	packed     []*packed
	rares      []*rare
}

// mostSpare bounds how much is kept.
const mostSpare = 16

// release gives back the place of the step that waited.
func (n *Node) release(g *Group) {
	x := g.transient()
	p := x.busy
	x.busy, p.purpose = nil, purpose{}
	give(&n.spare.steps, p)
}

// transientOf makes a group's transient state when it first needs any. tidy drops it.
func (n *Node) transientOf(g *Group) *transient {
	x := g.transient()
	if x == nil {
		x = take(&n.spare.transients)
		n.rareOf(g).transient = x
	}
	return x
}

// tidy drops transient state that is not needed any more. A long queue is not kept.
func (n *Node) tidy(g *Group) {
	x := g.transient()
	if x == nil || x.busy != nil {
		return
	}
	if x.place != 0 && len(x.queue) == 0 && !n.keepsPlace(g) { // what waits may begin the campaign
		n.muster.end(x)
	}
	if g.Role != memberstate.Candidate {
		if g.Role == memberstate.Leader {
			n.muster.askedWell(x)
		}
		x.repeats, x.vain = 0, 0
	}
	if x.place != 0 || x.repeats > 0 || x.attempt != nil || len(x.orders)+len(x.awaitHeir) > 0 || len(x.queue) > 0 {
		return
	}
	g.rare.transient = nil
	n.tidyRare(g)
	if cap(x.queue) <= mostSpare {
		give(&n.spare.transients, x)
	}
}

// mostRoom is the room that an empty list may keep. More of it was needed by very many groups at a time, which may not
// happen again.
const mostRoom = 1024

// emptied returns an empty list, with the room of one that is needed no more, unless that is too much.
func emptied[T any](list []T) []T {
	if cap(list) > mostRoom {
		return nil
	}
	return list[:0]
}

// take returns an object that was given back, or a new one.
func take[T any](from *[]*T) *T {
	last := len(*from) - 1
	if last < 0 {
		return new(T)
	}
	one := (*from)[last]
	*from = (*from)[:last]
	return one
}

func give[T any](to *[]*T, one *T) {
	if len(*to) < mostSpare {
		*to = append(*to, one)
	}
}
