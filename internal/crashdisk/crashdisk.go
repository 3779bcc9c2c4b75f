// Package crashdisk is a file system in memory that can be crashed. It keeps what
// is durable apart from what was written since, and yields every state that a
// crash may leave: of the sectors that were not synced any may be lost and any
// may be there, in whatever order they were written, and one may be torn.
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

// ErrDied is what Before returns for the operations that never came about, because the
// process had died. Of a sync that failed so the system knows nothing.
var ErrDied = errors.New("the process has died")

// SectorSize is what a disk writes as a whole, unless a crash tears it.
const SectorSize = 512

// Disk is a [memberstate.Disk]. It is not safe for concurrent use. The zero Disk is
// empty.
type Disk struct {
	// Before, if not nil, is called before every operation that changes
	// something, and fails it with the error that it returns.
	Before func(op string) error
	// After, if not nil, is called after every such operation, also a failed one.
	After func(op string)
	// Later, if not nil, is given what a store does beside its saves. Otherwise that is
	// done at once.
	Later func(work func())

	durable map[string]*content // by name
	current map[string]*content
	renames []map[string]*content // the names after each operation that is not synced
	locked  map[string]bool
}

// content is a file's, whatever its name.
type content struct {
	durable, current []byte
	dirty            map[int]bool // sectors that differ, or may
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

// Background runs what a store does beside its saves.
func (d *Disk) Background(work func()) {
	if d.Later != nil {
		d.Later(work)
		return
	}
	work()
}

// Open opens a file, which nobody else may have open.
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
		return nil // two names of one file stay what they are, as POSIX has it
	}
	return d.name("rename", func(names map[string]*content) {
		names[to] = names[from]
		delete(names, from)
	})
}

// Remove takes a name away.
func (d *Disk) Remove(name string) error {
	if d.current[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	return d.name("remove", func(names map[string]*content) { delete(names, name) })
}

// name changes names. Nothing of it is durable until the directory is synced.
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

// Dir is the one directory that there is.
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

// keep makes the first bytes of a sector of what was written durable.
func (c *content) keep(written []byte, sector, length int) {
	from := sector * SectorSize
	to := min(from+length, len(written))
	if grow := to - len(c.durable); grow > 0 {
		c.durable = append(c.durable, make([]byte, grow)...)
	}
	copy(c.durable[from:to], written[from:to])
}

// Sync makes what was written durable. If it fails the sectors that were to be
// written are forgotten about, and the next sync finds nothing to do, as it is on
// Linux: what is on the disk and what is read are then two things.
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

// Set puts a file there, durably. It is for tests that damage files.
func (d *Disk) Set(name string, text []byte) {
	next := maps.Clone(d.current)
	if next == nil {
		next = map[string]*content{}
	}
	next[name] = &content{durable: slices.Clone(text), current: slices.Clone(text), dirty: map[int]bool{}}
	d.current, d.durable, d.renames = next, next, nil
}

// Get is what a file holds.
func (d *Disk) Get(name string) []byte {
	if c := d.current[name]; c != nil {
		return slices.Clone(c.current)
	}
	return nil
}
