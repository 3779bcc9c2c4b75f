// Lists of groups that know their place, so that each is taken out without a search.

package protocol

// places is such a list. A group is in one of them at most.
type places []*Group

func (l *places) add(g *Group) {
	*l = append(*l, g)
	g.place = int32(len(*l))
}

// drop takes a group out; the last one takes its place.
func (l *places) drop(g *Group) {
	all := *l
	last := len(all) - 1
	all[g.place-1] = all[last]
	all[last].place = g.place
	all[last], g.place = nil, 0
	if *l = all[:last]; last == 0 {
		*l = emptied(*l)
	}
}
