// Locks and directories, where the system is Windows.

package memberstate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// replacesOpenFiles says that a rename may replace an open file by another open file.
const replacesOpenFiles = false

// lockFile opens a file so that no other process can open it until it is closed.
func lockFile(name string) (Lock, error) {
	const sharedWithNobody = 0
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, sharedWithNobody,
		nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		const sharingViolation syscall.Errno = 32
		if errors.Is(err, sharingViolation) {
			err = fmt.Errorf("%w (it holds %s)", ErrStoreLocked, name)
		}
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

// lockOpened does nothing. On Windows an open file cannot be removed, so the lock of the file
// beside the store is enough.
func lockOpened(*os.File) error { return nil }

// openDir opens nothing. On Windows the file system's journal makes a rename durable.
func openDir(string) (Dir, error) { return noDir{}, nil }

type noDir struct{}

func (noDir) Sync() error  { return nil }
func (noDir) Close() error { return nil }
