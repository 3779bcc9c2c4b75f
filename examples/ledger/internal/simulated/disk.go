// Disks in memory, which forget what was not synced when their node dies, and whose syncs may be slow.

package simulated

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hustings/hustings/memberstate"
)

// slowDisk is the file system of one process. A sync of its write-ahead log takes as long as the world wants. (Pebble syncs other
// files, and this one when it is opened or closed, while it holds a lock, and virtual time stands still while somebody waits for one.)
type slowDisk struct {
	vfs.FS
	lasts func() time.Duration
}

func (d slowDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.slow(name, f, err)
}

func (d slowDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return d.slow(name, f, err)
}

func (d slowDisk) slow(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return slowFile{f, d.lasts}, nil
}

type slowFile struct {
	vfs.File
	lasts func() time.Duration
}

func (f slowFile) Sync() error {
	f.wait()
	return f.File.Sync()
}

func (f slowFile) SyncData() error {
	f.wait()
	return f.File.SyncData()
}

func (f slowFile) SyncTo(length int64) (bool, error) {
	f.wait()
	return f.File.SyncTo(length)
}

func (f slowFile) wait() { time.Sleep(f.lasts()) }

// terms is a node's store of terms and votes, as one process has it. A dead process saves nothing.
type terms struct {
	*memberstate.MemStore
	died  <-chan struct{}
	lasts func() time.Duration
}

var errDied = errors.New("the process has died")

func (s terms) Save(batch []memberstate.Record) error {
	if isClosed(s.died) {
		return errDied
	}
	if err := s.Write(batch); err != nil {
		return err
	}
	time.Sleep(s.lasts())
	if isClosed(s.died) {
		return errDied
	}
	return s.Sync()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// survivors is what is left on a disk after its node has lost its power.
func survivors(disk *vfs.MemFS, r *rand.Rand) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
}
