// A node's disk: what it has, and what it was told to keep.

package simulation

import (
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// disk keeps the hard state of a node's groups. A crash during a save leaves of each group the
// old state or the new one; whole, as the store promises. With files, it is the store that
// is shipped which has to keep that promise, on a disk that tears its writes.
type disk struct {
	durable []memberstate.HardState // by group
	before  []memberstate.HardState // when the process began
	written []written               // not synced
	slow    bool                    // saves take long
	trouble Fault                   // what will become of the next save; 0: nothing
	files   *files
}

// written is a group's state that is on its way to the disk.
type written struct {
	place int
	hard  memberstate.HardState
}

func (d *disk) init(groups int, term memberstate.Term) {
	d.durable, d.before = make([]memberstate.HardState, groups), make([]memberstate.HardState, groups)
	for place := range d.durable {
		d.durable[place].Term = term
	}
}

// open is when a process begins.
func (d *disk) open() error {
	var err error
	if d.files != nil {
		err = d.files.open(d.durable)
	}
	d.written, d.trouble = d.written[:0], 0
	copy(d.before, d.durable)
	return err
}

// save begins to make records durable, and says how long it takes.
func (d *disk) save(n *node, batch []memberstate.Record) time.Duration {
	for i := range batch {
		r := &batch[i]
		vote := memberstate.Nobody
		if r.Vote != "" {
			vote = n.world.seatOf(r.Vote)
		}
		d.written = append(d.written, written{n.world.place(r.Group), memberstate.HardState{Term: r.Term, Vote: vote, Promise: r.Promise}})
	}
	w := n.world
	dull, least, most := w.hurried(500*time.Microsecond), w.hurried(200*time.Microsecond), w.hurried(1200*time.Microsecond)
	if d.slow {
		most += w.options.Timing.Detection()
	}
	return w.choices.Span(choice.Save, n.Index, least, most, dull)
}

// sync ends a save. A write that failed may have reached the disk all the same. After a
// sync that failed the system has forgotten what was to be written: the next one finds
// nothing to do, and succeeds.
func (d *disk) sync() error {
	trouble := d.trouble
	switch d.trouble = 0; trouble {
	case SaveFails:
		return errSaveFailed
	case SyncFails:
		d.written = d.written[:0]
		return errSaveFailed
	default:
		if d.files != nil {
			if err := d.files.save(d.written); err != nil {
				return err
			}
		}
		d.keep()
		return nil
	}
}

var errSaveFailed = errors.New("the disk has failed")

// keep makes durable what was written.
func (d *disk) keep() {
	for _, w := range d.written {
		d.durable[w.place] = w.hard
	}
	d.written = d.written[:0]
}

// keepSome makes durable what a crash leaves of what was written: of several groups' records
// those whose bits are set.
func (d *disk) keepSome(bits uint64) {
	for i, w := range d.written {
		if bits>>(i%maxGroups)&1 == 1 {
			d.durable[w.place] = w.hard
		}
	}
}

// crash may lose what was not synced.
func (d *disk) crash(n *node) {
	if len(d.written) > 0 {
		torn := n.world.choices.Number(choice.Torn, n.Index)
		switch {
		case d.files != nil:
			n.world.swarm.struck[TornTail]++
			d.files.crash(d.written, torn)
		default:
			d.keepSome(torn)
		}
	}
	d.written = d.written[:0]
}

// replace is what no disk does by itself.
func (d *disk) replace(place int, h memberstate.HardState) {
	d.durable[place], d.written, d.files = h, d.written[:0], nil
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
)

// quiet has a store tell nobody of the saves that its crashes cut short.
func quiet(d tornDisk) memberstate.FileOptions {
	return memberstate.FileOptions{Disk: d, Logger: slog.New(slog.DiscardHandler)}
}

// useFiles has the store that is shipped keep what the disk holds.
func (d *disk) useFiles() {
	empty := tornDisk{new(crashdisk.Disk)}
	store, err := quiet(empty).Create(storePath, storeNode)
	if err != nil {
		return // a disk without faults has none
	}
	d.files = &files{disk: empty, store: store}
	var all []written
	for place, hard := range d.durable {
		if hard != (memberstate.HardState{}) {
			all = append(all, written{place, hard})
		}
	}
	if len(all) > 0 {
		_ = d.files.save(all) // nor has it now
	}
}

// open opens the store again, and says what it has.
func (f *files) open(durable []memberstate.HardState) error {
	f.disk.Unlock()
	store, err := quiet(f.disk).Open(storePath, storeNode)
	if err != nil {
		return err
	}
	f.store = store
	for place := range durable {
		record, _, err := store.Load(groupNames[place])
		if err != nil {
			return err
		}
		vote := memberstate.Nobody
		if record.Vote != "" {
			vote = memberstate.Seat(record.Vote[0])
		}
		durable[place] = memberstate.HardState{Term: record.Term, Vote: vote, Promise: record.Promise}
	}
	return nil
}

// killed is when the process dies in a save, and the disk lives on: the next process reads
// what was written of it, be that durable or not. A store makes it durable before it says
// so.
func (d *disk) killed(n *node) {
	if len(d.written) > 0 {
		part := n.world.choices.Number(choice.Torn, n.Index)
		switch {
		case d.files != nil:
			d.files.kill(d.written, part%6)
		default:
			d.keepSome(part)
		}
	}
	d.written = d.written[:0]
}

// powerCut may lose whatever was not synced, by whichever process it was written.
func (d *disk) powerCut(n *node) {
	if d.files != nil && len(d.written) == 0 {
		d.files.cut(n.world.choices.Number(choice.Torn, n.Index))
	}
	d.crash(n)
}

func (f *files) save(all []written) error { return f.store.Save(records(all)) }

// crash dies in a save. Any part of what was written may survive.
func (f *files) crash(all []written, random uint64) {
	f.kill(all, math.MaxUint64)
	f.cut(random)
}

// kill dies in a save, at the latest before the sync, after so many writes.
func (f *files) kill(all []written, writes uint64) {
	died := false
	f.disk.Before = func(op string) error {
		if died = died || op == "sync" || writes == 0; died {
			return crashdisk.ErrDied
		}
		writes--
		return nil
	}
	_ = f.store.Save(records(all)) // it fails, and nobody is there to be told
	f.disk.Before = nil
}

func (f *files) cut(random uint64) {
	f.disk = tornDisk{f.disk.Crash(rand.New(rand.NewPCG(random, 0)))}
}

func records(all []written) []memberstate.Record {
	list := make([]memberstate.Record, len(all))
	for i, w := range all {
		list[i] = memberstate.Record{Group: groupNames[w.place], Term: w.hard.Term, Promise: w.hard.Promise}
		if w.hard.Vote != memberstate.Nobody {
			list[i].Vote = string([]byte{byte(w.hard.Vote)})
		}
	}
	return list
}
