// Linux can sync a file's content without its times.

package memberstate

import (
	"os"
	"syscall"
)

func syncData(f *os.File) error { return control(f, syscall.Fdatasync) }
