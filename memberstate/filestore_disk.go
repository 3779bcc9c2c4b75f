// What a store asks of a file system.

package memberstate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Disk is the file system that a [FileStore] is on. It is an interface so that a
// simulation can crash it and a measurement can look at it; OpenFile and
// CreateFile use that of the operating system. A Disk that has a method
// Room() (pages uint32) says how much a file has room for at least; else it is 4 MiB.
// One that has a method Background(work func()) runs what the store does beside saves;
// else that is done by a goroutine.
type Disk interface {
	// Open opens a file for reading and writing, and takes its lock, without waiting;
	// closing the file gives it back. The error wraps fs.ErrNotExist if there is no such
	// file, and ErrStoreLocked if someone else has it open.
	Open(name string) (File, error)
	// Create makes an empty file, and is otherwise like Open. The error wraps
	// fs.ErrExist if there is such a file.
	Create(name string) (File, error)
	// Link gives a file a second name, which nothing has yet.
	Link(name, second string) error
	// Rename gives a file another name, in place of the one that had it.
	Rename(from, to string) error
	// Remove takes a name away. What has no name ends when it is closed.
	Remove(name string) error
	// Dir opens the directory of a file.
	Dir(name string) (Dir, error)
	// Lock takes the lock of a name, without waiting. The error wraps
	// ErrStoreLocked if someone else has it. It ends with its holder's process.
	Lock(name string) (Lock, error)
}

// Dir is an open directory.
type Dir interface {
	io.Closer
	// Sync makes the names in it durable.
	Sync() error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes what was written durable.
	Sync() error
	// Size is the file's length in bytes.
	Size() (int64, error)
	// HasName says whether a name is known to stand for this very file.
	HasName(name string) bool
}

// Lock is given back by closing it.
type Lock = io.Closer

// OSDisk is the file system of the operating system.
func OSDisk() Disk { return osDisk{} }

type osDisk struct{}

const fileMode = 0o600 // nobody else's business, and nobody else's to change

func (osDisk) Open(name string) (File, error) { return openLocked(name, os.O_RDWR) }

func (osDisk) Create(name string) (File, error) {
	return openLocked(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// openLocked opens a file and locks it. Between the two the name may have been given to
// another file, by whoever had the lock before: then that one is meant.
func openLocked(name string, flags int) (File, error) {
	for range 100 {
		f, err := os.OpenFile(name, flags, fileMode)
		if err != nil {
			return nil, err
		}
		mine, err := f.Stat()
		if err == nil {
			err = lockOpened(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if named, err := os.Stat(name); err == nil && os.SameFile(mine, named) {
			return osFile{f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w (%s is another file each time)", ErrStoreLocked, name)
}

func (osDisk) Link(name, second string) error { return os.Link(name, second) }

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) Remove(name string) error { return os.Remove(name) }

func (osDisk) Dir(name string) (Dir, error) { return openDir(filepath.Dir(name)) }

func (osDisk) Lock(name string) (Lock, error) { return lockFile(name) }

type osFile struct{ *os.File }

// Sync leaves out what a file's content does not depend on, where it can.
func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) HasName(name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, named)
}
