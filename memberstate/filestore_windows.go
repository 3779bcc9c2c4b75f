// Locks and directories, where the system is Windows.

package memberstate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

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

// syncDir does nothing: there a rename is durable as the file system's journal is.
func syncDir(string) error { return nil }
