// The disks. A member that saves does nothing else until the save is done; its events wait
// meanwhile.

package virtual

import "time"

// disk is the disk of one member.
type disk struct {
	busy    bool
	alarm   time.Duration // the member's own alarm, while the end of a save takes its place
	waiting []func()
}

// Saves makes a member wait for its disk, until Saved. If disks take no time it returns false,
// and the member goes on at once.
func (w *World[M]) Saves(member int) bool {
	if w.Save == 0 {
		return false
	}
	d := &w.disks[member]
	d.busy, d.alarm = true, w.alarms[member]
	w.alarms[member] = w.now + w.Save
	return true
}

// saved lets a member go on, and then handle the events that had to wait, until it saves again.
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

// when calls what, for a member, as soon as the member does not wait for its disk.
func (w *World[M]) when(member int, what func()) {
	if w.busy(member) {
		w.disks[member].waiting = append(w.disks[member].waiting, what)
	} else {
		what()
	}
}

// busy reports whether a member waits for its disk. If disks take no time it does not look at
// them, which saves a tenth of the run time.
func (w *World[M]) busy(member int) bool { return w.Save > 0 && w.disks[member].busy }
