// The groups of a node by their names.
//
// A map would do. But there may be a great many groups that need little else, and a map of strings takes three times as
// much room as this: a hash table with open addressing that has, for each place, a group and a byte of its hash.

package protocol

import "math/bits"

// table is the groups by name. The zero table is empty.
type table struct {
	groups []*Group
	marks  []byte // of each place: a few bits of the hash of the group there, never 0; 0: there is none
	count  int
}

// find is the group of this name; nil if there is none.
func (t *table) find(name string) *Group {
	if t.count == 0 {
		return nil
	}
	place, mark := t.home(name)
	for ; t.marks[place] != 0; place = t.after(place) {
		if t.marks[place] == mark && t.groups[place].name == name {
			return t.groups[place]
		}
	}
	return nil
}

// add adds a group, of whose name there is none.
func (t *table) add(g *Group) {
	if t.count >= len(t.groups)*4/5 {
		t.grow()
	}
	t.put(g)
	t.count++
}

// grow makes room for half as many groups again.
func (t *table) grow() {
	all := t.all()
	room := max(8, len(t.groups)*3/2)
	t.groups, t.marks = make([]*Group, room), make([]byte, room)
	for _, g := range all {
		t.put(g)
	}
}

// put puts a group into the first free place from its home on.
func (t *table) put(g *Group) {
	place, mark := t.home(g.name)
	for t.marks[place] != 0 {
		place = t.after(place)
	}
	t.groups[place], t.marks[place] = g, mark
}

// drop removes a group, if it is there. No search may end at its place, so a group behind it that is not at home moves up.
func (t *table) drop(g *Group) {
	if t.find(g.name) != g {
		return
	}
	gap, _ := t.home(g.name)
	for t.groups[gap] != g {
		gap = t.after(gap)
	}
	for place := t.after(gap); t.marks[place] != 0; place = t.after(place) {
		home, _ := t.home(t.groups[place].name)
		if t.distance(home, place) >= t.distance(gap, place) {
			t.groups[gap], t.marks[gap] = t.groups[place], t.marks[place]
			gap = place
		}
	}
	t.groups[gap], t.marks[gap] = nil, 0
	if t.count--; t.count == 0 {
		*t = table{}
	}
}

// all are the groups, in any order.
func (t *table) all() []*Group {
	all := make([]*Group, 0, t.count)
	for _, g := range t.groups {
		if g != nil {
			all = append(all, g)
		}
	}
	return all
}

// home is the place where the search for a name begins, and the mark of the name.
func (t *table) home(name string) (place int, mark byte) {
	hash := hashOf(name)
	high, _ := bits.Mul64(hash, uint64(len(t.groups)))
	return int(high), byte(hash) | 1
}

// hashOf is FNV-1a, and one more multiplication, which spreads the last characters over all bits. The same names have the
// same hashes in every process. That is no danger, because the engine chooses them.
func hashOf(name string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 1099511628211
	}
	hash ^= hash >> 32
	hash *= 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}

func (t *table) after(place int) int {
	if place++; place == len(t.groups) {
		return 0
	}
	return place
}

// distance is how many places there are from one to another.
func (t *table) distance(from, to int) int {
	if to < from {
		to += len(t.groups)
	}
	return to - from
}
