// The errors of a store on disk.

package memberstate

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrNoStore: there is no store. If the node is new, create one. Otherwise its
	// disk has been lost, and its votes with it: it could vote twice in one term,
	// so that two leaders are elected.
	ErrNoStore = errors.New("there is no store; make one only for a node that is new: " +
		"one that has lost its store may have voted, and must come back under another id")
	// ErrStoreExists: a store cannot be created because there is one.
	ErrStoreExists = errors.New("there is a store already, so this node is not new; open it instead")
	// ErrStoreLost: a store cannot be created because there was one, which is missing.
	ErrStoreLost = errors.New("the store is missing, and with an empty one this node could vote twice in a term")
	// ErrStoreLocked: another process or this one has the store open.
	ErrStoreLocked = errors.New("another process has the store open")
	// ErrOtherNode: the store belongs to another node.
	ErrOtherNode = errors.New("this is the store of node")
	// ErrNewerFormat: the store was written by a later version of this library.
	ErrNewerFormat = errors.New("the store has a newer format")
	// ErrDamaged: a save that was acknowledged cannot be read, or may be missing.
	ErrDamaged = errors.New("the store is damaged")
	// ErrStoreBroken: a write or a sync has failed, so the content of the disk is
	// unknown until the store is opened again.
	ErrStoreBroken = errors.New("the store is unusable until it is opened again")
)

// nowhere is the offset in errors that concern a file as a whole.
const nowhere = -1

// FileError is an operation on a file that failed.
type FileError struct {
	Path   string
	Op     string // the operation
	Offset int64  // in bytes; negative: the file as a whole
	Err    error
}

func (e *FileError) Error() string {
	where := ""
	if e.Offset >= 0 {
		where = fmt.Sprintf(" at offset %d", e.Offset)
	}
	return fmt.Sprintf("memberstate: %s: %s%s: %v", e.Path, e.Op, where, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// failed makes the FileError of a failed operation. It removes the path from a fs.PathError,
// because FileError has it.
func (s *FileStore) failed(op string, offset int64, err error) error {
	if p, ok := err.(*fs.PathError); ok { //nolint:errorlint // only if it is not wrapped
		err = p.Err
	}
	return &FileError{Path: s.path, Op: op, Offset: offset, Err: err}
}
