//go:build linux

// A full disk, and one that cannot be written, where this user may make one.

package processes_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// smallDisk is a directory on a disk of 6 MiB of its own.
func smallDisk(t *testing.T, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=6m"); err != nil {
		t.Skipf("cannot make a small disk: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill leaves no room on the disk of a directory.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
}

// A store has its room from the day it is made, so a node on a disk that is full
// goes on voting; only one that is made then is refused.
func TestAFullDisk(t *testing.T) {
	disk := smallDisk(t, 0)
	c := newCluster(t, clusterOptions{size: 3, data: map[string]string{"n0": disk}})
	led := c.leaderAfter(0)
	fill(t, disk)
	for range 4 {
		c.followed(led.Term)
		c.operate("resign", led.Node)
		led = c.leaderAfter(led.Term)
	}
	c.await("n0 votes", func(e node.Event) bool {
		return e.Node == "n0" && e.Event == "role" && e.Term == led.Term && e.Vote != ""
	})
	_, err := c.run("serve", "--new", "--node", "n9", "--members", "n9=127.0.0.1:1", "--data", disk)
	assert.ErrorContains(t, err, "no space left on device")
	assert.ErrorContains(t, err, filepath.Join(disk, "n9.store"))
	assert.NoFileExists(t, node.StorePath(disk, "n9")+".new", "it leaves no rest behind")
}

func TestADiskThatCannotBeWritten(t *testing.T) {
	disk := smallDisk(t, syscall.MS_RDONLY)
	c := newCluster(t, clusterOptions{size: 1})
	_, err := c.run("serve", "--new", "--node", "n9", "--members", "n9=127.0.0.1:1", "--data", disk)
	assert.ErrorContains(t, err, "read-only file system")
	assert.ErrorContains(t, err, filepath.Join(disk, "n9.store"))
}
