// The disks. Who saves does nothing else until that is done; what happens to it
// meanwhile waits its turn.

package virtual

import "time"

// disk is that of one member.
type disk struct {
	busy    bool
	alarm   time.Duration // the member's own, while the end of a save has its place
	waiting []func()
}

// Saves has a member wait for its disk, until Saved. If disks take no time it is false,
// and the member is to go on.
func (w *World[M]) Saves(member int) bool {
	if w.Save == 0 {
		return false
	}
	d := &w.disks[member]
	d.busy, d.alarm = true, w.alarms[member]
	w.alarms[member] = w.now + w.Save
	return true
}

// saved has a member go on, and then take what had to wait, until it saves again.
func (w *World[M]) saved(member int) {
	d := &w.disks[member]
	d.busy, w.alarms[member] = false, d.alarm
	w.members[member].Saved()
	for len(d.waiting) > 0 && !d.busy {
		next := d.waiting[0]
		d.waiting = d.waiting[1:]
		next()
	}
}

// when has something happen to a member as soon as its disk is not waited for.
func (w *World[M]) when(member int, what func()) {
	if w.busy(member) {
		w.disks[member].waiting = append(w.disks[member].waiting, what)
	} else {
		what()
	}
}

// busy says whether a member waits for its disk. Where disks take no time it looks at
// none, which would be a tenth of all that happens.
func (w *World[M]) busy(member int) bool { return w.Save > 0 && w.disks[member].busy }
