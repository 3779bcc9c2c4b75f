// The store that is shipped, on a disk in memory of which a crash may leave any part of what was
// not synced.

package disk

import (
	"log/slog"
	"math"
	"math/rand/v2"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// store is a file store, and the disk that it is on.
type store struct {
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

// quiet has a store log nothing of the saves that its crashes cut short.
func quiet(d tornDisk) memberstate.FileOptions {
	return memberstate.FileOptions{Disk: d, Logger: slog.New(slog.DiscardHandler)}
}

// UseStore has the store that is shipped keep what the disk holds.
func (d *Disk) UseStore() {
	empty := tornDisk{new(crashdisk.Disk)}
	files, err := quiet(empty).Create(storePath, storeNode)
	if err != nil {
		return // a disk without faults has none
	}
	d.store = &store{disk: empty, store: files}
	var all []Write
	for place, hard := range d.Durable {
		if hard != (memberstate.HardState{}) {
			all = append(all, Write{place, hard})
		}
	}
	if len(all) > 0 {
		_ = d.store.save(d.groups, all) // it has no faults now, either
	}
}

// open opens the store again, and reads what it has.
func (s *store) open(groups []string, durable []memberstate.HardState) error {
	s.disk.Unlock()
	files, err := quiet(s.disk).Open(storePath, storeNode)
	if err != nil {
		return err
	}
	s.store = files
	for place := range durable {
		record, _, err := files.Load(groups[place])
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

func (s *store) save(groups []string, all []Write) error { return s.store.Save(records(groups, all)) }

// crash dies in a save. Any part of what was written may survive.
func (s *store) crash(groups []string, all []Write, random uint64) {
	s.kill(groups, all, math.MaxUint64)
	s.cut(random)
}

// kill dies in a save, after a number of writes, and at the latest before the sync.
func (s *store) kill(groups []string, all []Write, writes uint64) {
	died := false
	s.disk.Before = func(op string) error {
		if died = died || op == "sync" || writes == 0; died {
			return crashdisk.ErrDied
		}
		writes--
		return nil
	}
	_ = s.store.Save(records(groups, all)) // it fails, and the process has died
	s.disk.Before = nil
}

func (s *store) cut(random uint64) {
	s.disk = tornDisk{s.disk.Crash(rand.New(rand.NewPCG(random, 0)))}
}

// records are those of the store. A vote is written as the one byte of its seat.
func records(groups []string, all []Write) []memberstate.Record {
	list := make([]memberstate.Record, len(all))
	for i, w := range all {
		list[i] = memberstate.Record{Group: groups[w.Place], Term: w.Hard.Term, Promise: w.Hard.Promise}
		if w.Hard.Vote != memberstate.Nobody {
			list[i].Vote = string([]byte{byte(w.Hard.Vote)})
		}
	}
	return list
}
