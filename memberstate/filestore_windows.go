// Locks and directories, where the system is Windows.

package memberstate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// replacesOpenFiles says that a rename may replace a file that is open by one that is.
const replacesOpenFiles = false

// lockFile opens a file that nobody else may open as long as it is.
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

// lockOpened does nothing: there the file beside the store cannot be removed while it is
// open, so its lock is enough.
func lockOpened(*os.File) error { return nil }

// openDir opens nothing: there a rename is durable as the file system's journal is.
func openDir(string) (Dir, error) { return noDir{}, nil }

type noDir struct{}

func (noDir) Sync() error  { return nil }
func (noDir) Close() error { return nil }
