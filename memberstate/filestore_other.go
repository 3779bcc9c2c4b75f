//go:build !linux

package memberstate

import "os"

func syncData(f *os.File) error { return f.Sync() }
