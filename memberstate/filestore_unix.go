//go:build unix

// Locks and directories, where the system is a Unix.

package memberstate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// replacesOpenFiles says that a rename may replace an open file by another open file.
const replacesOpenFiles = true

func lockFile(name string) (Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lockOpened(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockOpened locks a file, whatever its name.
func lockOpened(f *os.File) error {
	err := control(f, func(fd int) error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%w (it holds %s)", ErrStoreLocked, f.Name())
	}
	return err
}

func openDir(name string) (Dir, error) { return os.Open(name) }

// control calls f with the descriptor, and again when a signal interrupts it.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = raw.Control(func(fd uintptr) {
		for result = syscall.EINTR; errors.Is(result, syscall.EINTR); {
			result = f(int(fd))
		}
	})
	return errors.Join(err, result)
}
