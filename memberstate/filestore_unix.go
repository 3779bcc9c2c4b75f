//go:build unix

// Locks and directories, where the system is a Unix.

package memberstate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func lockFile(name string) (Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	err = control(f, func(fd int) error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) })
	if err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w (it holds %s)", ErrStoreLocked, name)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

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
