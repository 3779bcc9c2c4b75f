// The states that a crash may leave.

package crashdisk

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
)

// States yields disks that a crash at this moment may leave: for each possible state of
// the names, many states of the unsynced sectors. By sector these are: none kept, all
// kept, every beginning, every end, each one alone, all except one, each one torn, and
// random ones. With few unsynced pages of 4 KiB, all combinations of whole pages follow.
// Where these are too many, it yields about one in several, by chance.
func (d *Disk) States(random *rand.Rand, oneIn int) iter.Seq[*Disk] {
	return func(yield func(*Disk) bool) {
		for _, names := range append([]map[string]*content{d.durable}, d.renames...) {
			for kept := range fates(dirtySectors(names), random) {
				if oneIn > 1 && random.IntN(oneIn) > 0 {
					continue
				}
				if !yield(survivor(names, kept)) {
					return
				}
			}
		}
	}
}

// place is a sector of a file.
type place struct {
	name   string
	sector int
}

// dirtySectors lists each unsynced sector once, by the first name of its file.
func dirtySectors(names map[string]*content) []place {
	var all []place
	seen := map[*content]bool{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if seen[names[name]] {
			continue
		}
		seen[names[name]] = true
		for _, sector := range slices.Sorted(maps.Keys(names[name].dirty)) {
			all = append(all, place{name, sector})
		}
	}
	return all
}

// fate returns how many bytes of an unsynced sector survive.
type fate func(place) int

// fates yields possible fates of the sectors. With many sectors it does not treat every
// one, but some at equal distances.
func fates(all []place, random *rand.Rand) iter.Seq[fate] {
	index := make(map[place]int, len(all))
	for i, p := range all {
		index[p] = i
	}
	whole := func(keep func(i int) bool) fate {
		return func(p place) int {
			if keep(index[p]) {
				return SectorSize
			}
			return 0
		}
	}
	step := max(1, len(all)/64)
	return func(yield func(fate) bool) {
		if !yield(whole(func(int) bool { return false })) || len(all) == 0 {
			return
		}
		if !yield(whole(func(int) bool { return true })) {
			return
		}
		for at := 0; at < len(all); at += step {
			torn := 1 + random.IntN(SectorSize-1)
			for _, k := range []fate{
				whole(func(i int) bool { return i < at }),
				whole(func(i int) bool { return i >= at }),
				whole(func(i int) bool { return i == at }),
				whole(func(i int) bool { return i != at }),
				whole(func(int) bool { return random.IntN(2) == 0 }),
				func(p place) int { // written in order until the crash tore this one
					switch i := index[p]; {
					case i < at:
						return SectorSize
					case i == at:
						return torn
					}
					return 0
				},
			} {
				if !yield(k) {
					return
				}
			}
		}
		for mask := range pageSubsets(all) {
			if !yield(mask) {
				return
			}
		}
	}
}

const maxPages = 8

// pageSubsets yields all combinations of whole pages, if there are few.
func pageSubsets(all []place) iter.Seq[fate] {
	const sectors = 4096 / SectorSize
	pages := map[place]int{}
	for _, p := range all {
		page := place{p.name, p.sector / sectors}
		if _, seen := pages[page]; !seen {
			pages[page] = len(pages)
		}
	}
	return func(yield func(fate) bool) {
		if len(pages) > maxPages {
			return
		}
		for mask := range 1 << len(pages) {
			keep := func(p place) int {
				return SectorSize * (mask >> pages[place{p.name, p.sector / sectors}] & 1)
			}
			if !yield(keep) {
				return
			}
		}
	}
}

// survivor is the disk after the crash.
func survivor(names map[string]*content, keep fate) *Disk {
	after := map[string]*content{}
	files := map[*content]*content{} // which may have several names
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := names[name]
		if files[c] == nil {
			left := &content{durable: slices.Clone(c.durable), dirty: map[int]bool{}}
			for _, sector := range slices.Sorted(maps.Keys(c.dirty)) {
				if n := keep(place{name, sector}); n > 0 {
					left.keep(c.current, sector, n)
				}
			}
			left.current = slices.Clone(left.durable)
			files[c] = left
		}
		after[name] = files[c]
	}
	return &Disk{durable: after, current: after}
}

// Crash returns a random disk that a crash at this moment may leave: each unsynced sector is
// lost, kept, or torn.
func (d *Disk) Crash(random *rand.Rand) *Disk {
	names := append([]map[string]*content{d.durable}, d.renames...)
	return survivor(names[random.IntN(len(names))], func(place) int {
		switch random.IntN(4) {
		case 0:
			return random.IntN(SectorSize)
		case 1:
			return SectorSize
		default:
			return 0
		}
	})
}
