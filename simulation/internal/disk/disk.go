// Package disk is the disk of a simulated node: what is durable on it, what was only written, and
// what a crash leaves of that.
package disk

import (
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// Disk keeps the hard state of a node's groups. A crash during a save leaves of each group the
// old state or the new one; whole, as the store promises. With UseStore, it is the store that is
// shipped which has to keep that promise, on a disk that tears its writes (store.go).
type Disk struct {
	Durable []memberstate.HardState // by group
	AtStart []memberstate.HardState // what was durable when the process began
	Written []Write                 // what is not synced
	starts  uint64                  // how often a process has counted its start
	counted uint64                  // of these, before the process began

	groups []string
	store  *store // nil: the disk is perfect
}

// Write is a group's state on its way to the disk.
type Write struct {
	Place int // of the group
	Hard  memberstate.HardState
}

// New is a disk that has only a term, of every group.
func New(groups []string, term memberstate.Term) Disk {
	d := Disk{Durable: make([]memberstate.HardState, len(groups)), AtStart: make([]memberstate.HardState, len(groups)), groups: groups}
	for place := range d.Durable {
		d.Durable[place].Term = term
	}
	return d
}

// Open is when a process begins.
func (d *Disk) Open() error {
	var err error
	if d.store != nil {
		err = d.store.open(d.groups, d.Durable)
	}
	d.Written = d.Written[:0]
	copy(d.AtStart, d.Durable)
	d.counted = d.starts
	return err
}

// CountStart counts a start of the process, durably, and returns how many there were.
func (d *Disk) CountStart() (starts uint64, err error) {
	d.starts++
	if d.store != nil {
		d.starts, err = memberstate.CountStart(d.store.store, d.starts)
	}
	return d.starts, err
}

// Write begins to save a group's state.
func (d *Disk) Write(place int, hard memberstate.HardState) {
	d.Written = append(d.Written, Write{place, hard})
}

// Writes says whether something of a group is not synced.
func (d *Disk) Writes(place int) bool {
	return slices.ContainsFunc(d.Written, func(w Write) bool { return w.Place == place })
}

// Sync makes everything that was written durable.
func (d *Disk) Sync() error {
	if d.store != nil {
		if err := d.store.save(d.groups, d.Written); err != nil {
			return err
		}
	}
	for _, w := range d.Written {
		d.Durable[w.Place] = w.Hard
	}
	d.Forget()
	return nil
}

// Forget drops what was written.
func (d *Disk) Forget() { d.Written = d.Written[:0] }

// Crash is when the process and the system end. What was not synced may be lost; draw chooses
// what, if there is something. Torn says that a write of the store that is shipped was cut off.
func (d *Disk) Crash(draw func() uint64) (torn bool) {
	if len(d.Written) > 0 {
		random := draw()
		if torn = d.store != nil; torn {
			d.store.crash(d.groups, d.Written, random)
		} else {
			d.keepSome(random)
		}
	}
	d.Forget()
	return torn
}

// Kill is when the process dies in a save, and the system lives on: the next process reads what
// was written, be that durable or not. A store makes it durable before it says so.
func (d *Disk) Kill(draw func() uint64) {
	if len(d.Written) > 0 {
		if random := draw(); d.store != nil {
			d.store.kill(d.groups, d.Written, random%6)
		} else {
			d.keepSome(random)
		}
	}
	d.Forget()
}

// PowerCut may lose all that was not synced, by whichever process it was written.
func (d *Disk) PowerCut(draw func() uint64) (torn bool) {
	if d.store != nil && len(d.Written) == 0 {
		d.store.cut(draw())
	}
	return d.Crash(draw)
}

// keepSome makes durable what a crash leaves of what was written: the records whose bits are set.
func (d *Disk) keepSome(bits uint64) {
	for i, w := range d.Written {
		if bits>>(i%64)&1 == 1 {
			d.Durable[w.Place] = w.Hard
		}
	}
}

// Replace changes what is durable of a group, as no disk does by itself.
func (d *Disk) Replace(place int, h memberstate.HardState) {
	d.Durable[place], d.store = h, nil
	d.Forget()
}

// RollBack puts back what was durable when the process began, before it counted its start.
func (d *Disk) RollBack() {
	copy(d.Durable, d.AtStart)
	d.starts, d.store = d.counted, nil
	d.Forget()
}
