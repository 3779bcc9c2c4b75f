// Disks of processes that can fail.

package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/faultdisk"
)

// mount has a folder on a disk that can fail; nil if this needs rights that the test has not got.
func mount(t *testing.T, at string) disk {
	t.Helper()
	require.NoError(t, os.MkdirAll(at, 0o700))
	d, err := faultdisk.Mount(t.TempDir(), at)
	if err != nil {
		t.Logf("no disk fails, because that needs root and /dev/fuse: %v", err)
		return nil
	}
	t.Cleanup(func() { assert.NoError(t, d.Unmount()) })
	return d
}
