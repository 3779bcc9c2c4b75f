// What a store asks of a file system.

package memberstate

import (
	"io"
	"os"
	"path/filepath"
)

// Disk is the file system that a [FileStore] is on. It is an interface so that a
// simulation can crash it and a measurement can look at it; OpenFile and
// CreateFile use that of the operating system. A Disk that has a method
// Room() (pages uint32) says how much a file has room for at least; else it is 4 MiB.
type Disk interface {
	// Open opens a file for reading and writing. The error wraps
	// fs.ErrNotExist if there is none.
	Open(name string) (File, error)
	// Create makes an empty file, in place of one that may be there.
	Create(name string) (File, error)
	// Rename gives a file another name, in place of the one that had it.
	Rename(from, to string) error
	// Remove deletes a file.
	Remove(name string) error
	// SyncDir makes the names in the directory of a file durable.
	SyncDir(name string) error
	// Lock takes the lock of a name, without waiting. The error wraps
	// ErrStoreLocked if someone else has it. It ends with its holder's process.
	Lock(name string) (Lock, error)
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
}

// Lock is given back by closing it.
type Lock = io.Closer

// OSDisk is the file system of the operating system.
func OSDisk() Disk { return osDisk{} }

type osDisk struct{}

const fileMode = 0o600 // nobody else's business, and nobody else's to change

func (osDisk) Open(name string) (File, error) { return osFileOf(os.OpenFile(name, os.O_RDWR, 0)) }

func (osDisk) Create(name string) (File, error) {
	return osFileOf(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode))
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) Remove(name string) error { return os.Remove(name) }

func (osDisk) SyncDir(name string) error { return syncDir(filepath.Dir(name)) }

func (osDisk) Lock(name string) (Lock, error) { return lockFile(name) }

type osFile struct{ *os.File }

// osFileOf keeps a nil file from becoming a File that is not nil.
func osFileOf(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Sync leaves out what a file's content does not depend on, where it can.
func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
