// Package crashdisk is a file system in memory that can be crashed. It keeps durable data
// apart from data that was written since, and yields the states that a crash may leave:
// each sector that was not synced may be lost or kept, whatever the order of the writes,
// and one may be torn.
package crashdisk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// ErrDied is returned by Before for operations that did not happen, because the process had
// died. A sync that fails with ErrDied was never started.
var ErrDied = errors.New("the process has died")

// SectorSize is the unit that a disk writes as a whole, unless a crash tears it.
const SectorSize = 512

// Disk is a [memberstate.Disk]. It is not safe for concurrent use. The zero Disk is
// empty.
type Disk struct {
	// Before, if not nil, is called before every operation that changes something.
	// If it returns an error, the operation fails with that error.
	Before func(op string) error
	// After, if not nil, is called after every such operation, even a failed one.
	After func(op string)
	// Later, if not nil, receives a store's background work. Otherwise the work is done
	// at once.
	Later func(work func())

	durable map[string]*content // by name
	current map[string]*content
	renames []map[string]*content // the names after each operation that is not synced
	locked  map[string]bool
}

// content is the content of a file, which may have several names.
type content struct {
	durable, current []byte
	dirty            map[int]bool // sectors that may differ
	open             bool
}

func (d *Disk) change(op string, do func()) error {
	var err error
	if d.Before != nil {
		err = d.Before(op)
	}
	if err == nil {
		do()
	}
	if d.After != nil {
		d.After(op)
	}
	return err
}

// Background runs a store's background work.
func (d *Disk) Background(work func()) {
	if d.Later != nil {
		d.Later(work)
		return
	}
	work()
}

// Open opens a file that is not open already.
func (d *Disk) Open(name string) (memberstate.File, error) {
	c := d.current[name]
	if c == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if c.open {
		return nil, memberstate.ErrStoreLocked
	}
	c.open = true
	return &file{disk: d, content: c}, nil
}

// Create makes an empty file.
func (d *Disk) Create(name string) (memberstate.File, error) {
	if d.current[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	c := &content{dirty: map[int]bool{}, open: true}
	err := d.name("create", func(names map[string]*content) { names[name] = c })
	if err != nil {
		return nil, err
	}
	return &file{disk: d, content: c}, nil
}

// Link gives a file a second name.
func (d *Disk) Link(name, second string) error {
	switch {
	case d.current[name] == nil:
		return &fs.PathError{Op: "link", Path: name, Err: fs.ErrNotExist}
	case d.current[second] != nil:
		return &fs.PathError{Op: "link", Path: second, Err: fs.ErrExist}
	}
	return d.name("link", func(names map[string]*content) { names[second] = names[name] })
}

// Rename gives a file another name.
func (d *Disk) Rename(from, to string) error {
	if d.current[from] == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	if d.current[from] == d.current[to] {
		return nil // POSIX: if both are names of one file, nothing changes
	}
	return d.name("rename", func(names map[string]*content) {
		names[to] = names[from]
		delete(names, from)
	})
}

// Remove removes a name.
func (d *Disk) Remove(name string) error {
	if d.current[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	return d.name("remove", func(names map[string]*content) { delete(names, name) })
}

// name changes names. The change is not durable until the directory is synced.
func (d *Disk) name(op string, do func(names map[string]*content)) error {
	return d.change(op, func() {
		next := maps.Clone(d.current)
		if next == nil {
			next = map[string]*content{}
		}
		do(next)
		d.current = next
		d.renames = append(d.renames, next)
	})
}

// Dir opens the only directory.
func (d *Disk) Dir(string) (memberstate.Dir, error) { return dir{d}, nil }

type dir struct{ disk *Disk }

// Sync makes all names durable.
func (d dir) Sync() error {
	return d.disk.change("syncdir", func() { d.disk.durable, d.disk.renames = d.disk.current, nil })
}

func (dir) Close() error { return nil }

// Lock takes a lock.
func (d *Disk) Lock(name string) (memberstate.Lock, error) {
	if d.locked[name] {
		return nil, memberstate.ErrStoreLocked
	}
	if d.locked == nil {
		d.locked = map[string]bool{}
	}
	d.locked[name] = true
	return &lock{d, name}, nil
}

// Unlock gives all locks back, as the end of a process does.
func (d *Disk) Unlock() {
	clear(d.locked)
	for _, c := range d.current {
		c.open = false
	}
}

type lock struct {
	disk *Disk
	name string
}

func (l *lock) Close() error {
	delete(l.disk.locked, l.name)
	return nil
}

type file struct {
	disk    *Disk
	content *content
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(f.content.current)) {
		return 0, io.EOF
	}
	n := copy(b, f.content.current[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	err := f.disk.change("write", func() { f.content.write(b, int(at)) })
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *content) write(b []byte, at int) {
	if grow := at + len(b) - len(c.current); grow > 0 {
		c.current = append(c.current, make([]byte, grow)...)
	}
	for len(b) > 0 {
		sector := at / SectorSize
		n := min(len(b), (sector+1)*SectorSize-at)
		if at+n > len(c.durable) || !bytes.Equal(c.durable[at:at+n], b[:n]) {
			c.dirty[sector] = true
		}
		copy(c.current[at:], b[:n])
		b, at = b[n:], at+n
	}
}

// keep makes the first bytes of a written sector durable.
func (c *content) keep(written []byte, sector, length int) {
	from := sector * SectorSize
	to := min(from+length, len(written))
	if grow := to - len(c.durable); grow > 0 {
		c.durable = append(c.durable, make([]byte, grow)...)
	}
	copy(c.durable[from:to], written[from:to])
}

// Sync makes all writes durable. If it fails, the next sync does not write those sectors
// again, as on Linux, so the content that is read then differs from that on the disk.
func (f *file) Sync() error {
	c := f.content
	err := f.disk.change("sync", func() {
		for sector := range c.dirty {
			c.keep(c.current, sector, SectorSize)
		}
	})
	if !errors.Is(err, ErrDied) {
		clear(c.dirty)
	}
	return err
}

func (f *file) Size() (int64, error) { return int64(len(f.content.current)), nil }

func (f *file) HasName(name string) bool { return f.disk.current[name] == f.content }

func (f *file) Close() error {
	f.content.open = false
	return nil
}

// Set makes a durable file. It is for tests that damage files.
func (d *Disk) Set(name string, text []byte) {
	next := maps.Clone(d.current)
	if next == nil {
		next = map[string]*content{}
	}
	next[name] = &content{durable: slices.Clone(text), current: slices.Clone(text), dirty: map[int]bool{}}
	d.current, d.durable, d.renames = next, next, nil
}

// Get returns the content of a file, nil if there is none.
func (d *Disk) Get(name string) []byte {
	if c := d.current[name]; c != nil {
		return slices.Clone(c.current)
	}
	return nil
}
