// The desk of a group: what it needs while anything happens to it, and not while it is packed.

package protocol

import "time"

// desk is what an open group needs besides its row, the Group itself.
type desk struct {
	Session
	due, look time.Duration // when the alarm rings, and when to look at it next; 0: never
	rare      *rare         // nil: there is nothing of it
}

// rare is what few of the open groups need, or not for long.
type rare struct {
	transient *transient // nil while there is nothing of it
	ability   *ability   // nil while nothing needs to be remembered of it
}

// transient is the group's transient state; nil if there is none.
func (g *Group) transient() *transient {
	if g.desk == nil || g.rare == nil {
		return nil
	}
	return g.rare.transient
}

// ability is what needs to be remembered of the group's ability; nil if nothing does.
func (g *Group) ability() *ability {
	if g.desk == nil || g.rare == nil {
		return nil
	}
	return g.rare.ability
}

// rareOf makes room for what an open group rarely needs. tidyRare drops it.
func (n *Node) rareOf(g *Group) *rare {
	if g.rare == nil {
		g.rare = take(&n.spare.rares)
	}
	return g.rare
}

func (n *Node) tidyRare(g *Group) {
	if r := g.rare; *r == (rare{}) {
		g.rare = nil
		give(&n.spare.rares, r)
	}
}
