// The file system that a store needs.

package memberstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is the file system that a [FileStore] is on. It is an interface so that a
// simulation can crash it and a benchmark can observe it; OpenFile and CreateFile use
// the file system of the operating system. A Disk may have two more methods:
// Room() (pages uint32) is the least size of a file, 4 MiB without it;
// Background(work func()) runs work that no save waits for, a goroutine without it.
type Disk interface {
	// Open opens a file for reading and writing and locks it, without waiting. Closing
	// the file unlocks it. The error wraps fs.ErrNotExist if there is no such file, and
	// ErrStoreLocked if it is locked.
	Open(name string) (File, error)
	// Create makes an empty file, and is otherwise like Open. The error wraps
	// fs.ErrExist if there is such a file.
	Create(name string) (File, error)
	// Link gives a file a second name, which must be free.
	Link(name, second string) error
	// Rename renames a file. A file that has the new name loses it.
	Rename(from, to string) error
	// Remove removes a name. A file without a name is deleted when it is closed.
	Remove(name string) error
	// Dir opens the directory of a file.
	Dir(name string) (Dir, error)
	// Lock takes the lock of a name, without waiting. The error wraps
	// ErrStoreLocked if it is taken. The lock ends with the process.
	Lock(name string) (Lock, error)
}

// Dir is an open directory.
type Dir interface {
	io.Closer
	// Sync makes the names in the directory durable.
	Sync() error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes all writes durable.
	Sync() error
	// Size is the file's length in bytes.
	Size() (int64, error)
	// HasName says whether this file, and no other, has the name. It is false in doubt.
	HasName(name string) bool
}

// Lock is given back by closing it.
type Lock = io.Closer

// OSDisk is the file system of the operating system.
func OSDisk() Disk { return osDisk{} }

type osDisk struct{}

const fileMode = 0o600 // other users may neither read nor change it

func (osDisk) Open(name string) (File, error) { return openLocked(name, os.O_RDWR) }

func (osDisk) Create(name string) (File, error) {
	return openLocked(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// errSymbolicLink: a store replaces its file when that is full. That would replace the link, and leave an
// older file where it pointed to, with older votes, which another process could open.
var errSymbolicLink = errors.New("it is a symbolic link; only the directory of a store may be one, or be below one")

// openLocked opens a file and locks it. In between, the previous holder of the lock may have
// given the name to another file; then openLocked tries that one.
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
		switch named, err := os.Lstat(name); {
		case err == nil && os.SameFile(mine, named):
			return osFile{f}, nil
		case err == nil && named.Mode()&fs.ModeSymlink != 0:
			return nil, errors.Join(errSymbolicLink, f.Close())
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

// Sync leaves out metadata that the content does not need, where the system allows it.
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
