// A node's disk: what it has, and what it was told to keep.

package simulation

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// disk keeps the hard state of one group. A crash during a save leaves the old
// state or the new one; whole, as the store promises. With files, it is the store that
// is shipped which has to keep that promise, on a disk that tears its writes.
type disk struct {
	durable memberstate.HardState
	written memberstate.HardState // not synced, if pending
	pending bool
	before  memberstate.HardState // when the process began
	slow    bool                  // saves take long
	trouble Fault                 // what will become of the next save; 0: nothing
	files   *files
}

// open is when a process begins.
func (d *disk) open() error {
	var err error
	if d.files != nil {
		d.durable, err = d.files.open()
	}
	d.pending, d.trouble, d.before = false, 0, d.durable
	return err
}

// save begins to make a state durable, and says how long it takes.
func (d *disk) save(n *node, h memberstate.HardState) time.Duration {
	d.written, d.pending = h, true
	const dull = 500 * time.Microsecond
	most := 1200 * time.Microsecond
	if d.slow {
		most += n.rules.Timing.Detection()
	}
	return n.world.choices.span(chooseSave, n.index, 200*time.Microsecond, most, dull)
}

// sync ends a save, and says whether it succeeded. A write that failed may have
// reached the disk all the same. After a sync that failed the system has forgotten what
// was to be written: the next one finds nothing to do, and succeeds.
func (d *disk) sync() bool {
	trouble := d.trouble
	switch d.trouble = 0; trouble {
	case SaveFails:
		return false
	case SyncFails:
		d.pending = false
		return false
	default:
		if d.files != nil && d.pending && d.files.save(d.written) != nil {
			return false
		}
		if d.pending {
			d.durable, d.pending = d.written, false
		}
		return true
	}
}

// crash may lose what was not synced.
func (d *disk) crash(n *node) {
	if d.pending {
		torn := n.world.choices.number(chooseTorn, n.index)
		switch {
		case d.files != nil:
			n.world.swarm.struck[TornTail]++
			d.files.crash(d.written, torn)
		case torn&1 == 1:
			d.durable = d.written
		}
	}
	d.pending = false
}

// replace is what no disk does by itself.
func (d *disk) replace(h memberstate.HardState) {
	d.durable, d.pending, d.files = h, false, nil
}

// files is the store that is shipped, on a disk in memory.
type files struct {
	disk  tornDisk
	store *memberstate.FileStore
}

// tornDisk is a small disk, so that its files are soon full, and written anew.
type tornDisk struct{ *crashdisk.Disk }

func (tornDisk) Room() uint32 { return 16 }

const (
	storePath = "node.store"
	storeNode = "node"
	group     = "group"
)

// quiet has a store tell nobody of the saves that its crashes cut short.
func quiet(d tornDisk) memberstate.FileOptions {
	return memberstate.FileOptions{Disk: d, Logger: slog.New(slog.DiscardHandler)}
}

// useFiles has the store that is shipped keep what the disk holds.
func (d *disk) useFiles() {
	empty := tornDisk{new(crashdisk.Disk)}
	if store, err := quiet(empty).Create(storePath, storeNode); err == nil { // a disk without faults
		d.files = &files{disk: empty, store: store}
	}
}

func (f *files) open() (memberstate.HardState, error) {
	f.disk.Unlock()
	store, err := quiet(f.disk).Open(storePath, storeNode)
	if err != nil {
		return memberstate.HardState{}, err
	}
	f.store = store
	record, _, err := store.Load(group)
	vote := memberstate.Nobody
	if record.Vote != "" {
		vote = memberstate.Seat(record.Vote[0])
	}
	return memberstate.HardState{Term: record.Term, Vote: vote, Promise: record.Promise}, err
}

func (f *files) save(h memberstate.HardState) error {
	return f.store.Save([]memberstate.Record{recordOf(h)})
}

var errCrashed = errors.New("crashed")

// crash dies in the save of a state. Any part of what was written may survive.
func (f *files) crash(h memberstate.HardState, random uint64) {
	f.disk.Before = func(op string) error {
		if op == "sync" {
			return errCrashed
		}
		return nil
	}
	_ = f.store.Save([]memberstate.Record{recordOf(h)}) // it fails, and nobody is there to be told
	f.disk = tornDisk{f.disk.Crash(rand.New(rand.NewPCG(random, 0)))}
}

func recordOf(h memberstate.HardState) memberstate.Record {
	r := memberstate.Record{Group: group, Term: h.Term, Promise: h.Promise}
	if h.Vote != memberstate.Nobody {
		r.Vote = string([]byte{byte(h.Vote)})
	}
	return r
}
