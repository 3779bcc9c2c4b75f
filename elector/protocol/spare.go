// Memory that groups need only while their steps wait. It is kept for reuse, because steps wait often
// and groups may be many.

package protocol

// spare is what no group needs now.
type spare struct {
	steps  []*pending
	extras []*more
}

// mostSpare bounds how much is kept.
const mostSpare = 16

// release gives back the place of the step that waited.
func (n *Node) release(g *Group) {
	p := g.more.busy
	g.more.busy, p.purpose = nil, purpose{}
	give(&n.spare.steps, p)
}

// extras are made when the group first needs them, and dropped when it needs none.
func (n *Node) extras(g *Group) *more {
	if g.more == nil {
		g.more = take(&n.spare.extras)
	}
	return g.more
}

// tidy drops extras that are not needed any more. A long queue is not kept.
func (n *Node) tidy(g *Group) {
	x := g.more
	if x == nil || x.busy != nil || x.attempt != nil || x.err != nil || len(x.orders)+len(x.heirless) > 0 || len(x.queue) > 0 {
		return
	}
	if g.more = nil; cap(x.queue) <= mostSpare {
		give(&n.spare.extras, x)
	}
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
