// This file has a node's disk, which may be slow, full, hanging or broken, and decides which
// writes survive when a process dies or the power fails.

package shell

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// storePath is the name of the store's file. A machine has one.
const storePath = "store"

// errDied is the error of a dead process's calls, because its goroutines go on for a while.
var errDied = errors.New("the process has died")

// disk belongs to a machine and outlives its processes.
type disk struct {
	mu     sync.Mutex
	random *rand.Rand
	files  *crashdisk.Disk
	slow   time.Duration // the longest time of a sync
	hang   chan struct{} // closed when a sync may go on; nil: at once
	full   bool
	breaks int // which of the next operations of a save fails, from 1; 0: none does
}

func newDisk(r *rand.Rand) *disk { return &disk{random: r, files: new(crashdisk.Disk)} }

// died leaves the files that the next process finds.
func (d *disk) died(powerCut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if powerCut {
		d.files = d.files.Crash(d.random)
	}
	d.files.Unlock()
}

// set changes the disk's state.
func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// hangs makes syncs wait until release is called.
func (d *disk) hangs() (release func()) {
	stuck := make(chan struct{})
	d.set(func() { d.hang = stuck })
	return func() {
		d.set(func() {
			if d.hang == stuck {
				d.hang = nil
			}
		})
		close(stuck)
	}
}

// heal ends all faults of the disk, except a hang, which ends by its release.
func (d *disk) heal() { d.set(func() { d.slow, d.full, d.breaks = 0, false, 0 }) }

// mount is a disk as one process sees it: a [memberstate.Disk].
//
// A store holds a lock of package sync while it prepares its next file. While one goroutine
// of a bubble waits for such a lock no time passes, so nothing may take time there. Hence
// only syncs of the present file, for which saves wait, take time.
type mount struct {
	disk  *disk
	files *crashdisk.Disk // the files when the process began
	died  chan struct{}   // closed when the process dies
	busy  *trouble        // of the process
	// failed is when an operation failed last. Others may hear of that before the save that needed it.
	failed *atomic.Pointer[time.Time]
}

// do carries out an operation, unless the process is dead.
func (m *mount) do(op func() error) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	select {
	case <-m.died:
		return errDied
	default:
		return op()
	}
}

// fails notes an error of the disk.
func (m *mount) fails(err error) error {
	if err != nil {
		now := time.Now()
		m.failed.Store(&now)
	}
	return err
}

// Open opens a file.
func (m *mount) Open(name string) (f memberstate.File, err error) {
	return m.opened(func() (memberstate.File, error) { return m.files.Open(name) })
}

// Create makes a file, if there is room.
func (m *mount) Create(name string) (memberstate.File, error) {
	return m.opened(func() (memberstate.File, error) {
		if m.disk.full {
			return nil, m.fails(&fs.PathError{Op: "create", Path: name, Err: syscall.ENOSPC})
		}
		return m.files.Create(name)
	})
}

func (m *mount) opened(open func() (memberstate.File, error)) (f memberstate.File, err error) {
	err = m.do(func() error {
		inner, err := open()
		if err == nil {
			f = &file{mount: m, inner: inner}
		}
		return err
	})
	return f, err
}

// Link gives a file a second name.
func (m *mount) Link(name, second string) error {
	return m.do(func() error { return m.files.Link(name, second) })
}

// Rename gives a file another name.
func (m *mount) Rename(from, to string) error {
	return m.do(func() error { return m.files.Rename(from, to) })
}

// Remove removes a name.
func (m *mount) Remove(name string) error {
	return m.do(func() error { return m.files.Remove(name) })
}

// Dir opens the directory.
func (m *mount) Dir(name string) (memberstate.Dir, error) {
	inner, err := m.files.Dir(name)
	return &dir{m, inner}, err
}

// Lock takes a lock.
func (m *mount) Lock(name string) (lock memberstate.Lock, err error) {
	err = m.do(func() error {
		inner, err := m.files.Lock(name)
		lock = &held{m, inner}
		return err
	})
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// Room is so small that a file is soon full and another one takes its place.
func (m *mount) Room() uint32 { return 32 }

// Background does a store's work beside its saves at once.
func (m *mount) Background(work func()) { work() }

type dir struct {
	mount *mount
	inner memberstate.Dir
}

// Sync makes names durable.
func (d *dir) Sync() error { return d.mount.do(d.inner.Sync) }

// Close does nothing, because nothing depends on it.
func (d *dir) Close() error { return nil }

type held struct {
	mount *mount
	inner memberstate.Lock
}

// Close gives the lock back, unless the end of the process has done so.
func (l *held) Close() error {
	if err := l.mount.do(l.inner.Close); !errors.Is(err, errDied) {
		return err
	}
	return nil
}

type file struct {
	mount *mount
	inner memberstate.File
}

// ReadAt reads.
func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	err = f.mount.do(func() error { n, err = f.inner.ReadAt(b, at); return err })
	return n, err
}

// WriteAt writes, if the disk works and has room.
func (f *file) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.mount.do(func() error {
		size, err := f.inner.Size()
		switch {
		case err != nil:
			return err
		case f.mount.disk.full && at+int64(len(b)) > size:
			return syscall.ENOSPC
		case f.breaks():
			return syscall.EIO
		}
		n, err = f.inner.WriteAt(b, at)
		return err
	})
	return n, f.mount.fails(err)
}

// breaks says whether this operation fails.
func (f *file) breaks() bool {
	d := f.mount.disk
	if d.breaks == 0 || !f.inner.HasName(storePath) {
		return false
	}
	d.breaks--
	return d.breaks == 0
}

// Sync makes writes durable. Slow and hanging disks take their time here.
func (f *file) Sync() error {
	if f.waits() {
		f.mount.busy.begin()
		defer f.mount.busy.end()
		f.wait()
	}
	return f.mount.fails(f.mount.do(func() error {
		if f.breaks() {
			return syscall.EIO
		}
		return f.inner.Sync()
	}))
}

// waits says whether the sync takes time: only the present file's does, on a slow or hanging disk.
func (f *file) waits() bool {
	d := f.mount.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	return (d.slow > 0 || d.hang != nil) && f.inner.HasName(storePath)
}

func (f *file) wait() {
	d := f.mount.disk
	d.mu.Lock()
	slow, hang := upTo(d.random, d.slow), d.hang
	d.mu.Unlock()
	timer := time.NewTimer(slow)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.mount.died:
	}
	if hang != nil {
		select {
		case <-hang:
		case <-f.mount.died:
		}
	}
}

// Size is the file's length.
func (f *file) Size() (size int64, err error) {
	err = f.mount.do(func() error { size, err = f.inner.Size(); return err })
	return size, err
}

// HasName says whether the name is this file's.
func (f *file) HasName(name string) (has bool) {
	_ = f.mount.do(func() error { has = f.inner.HasName(name); return nil }) // a dead process sees no names
	return has
}

// Close closes the file, unless the end of the process has done so.
func (f *file) Close() error {
	if err := f.mount.do(f.inner.Close); !errors.Is(err, errDied) {
		return err
	}
	return nil
}
