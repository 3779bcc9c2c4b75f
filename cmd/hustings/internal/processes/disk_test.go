//go:build linux

// Nodes on a full disk and on a read-only one, if this user may mount them.

package processes_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/memberstate"
)

// smallDisk mounts a disk of 12 MiB and returns its directory.
func smallDisk(t *testing.T, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=12m"); err != nil {
		t.Skipf("cannot make a small disk: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill fills the disk of a directory.
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

// nearlyFull fills the store of a stopped node until there is room for only a few saves.
func nearlyFull(t *testing.T, path, id string) (before memberstate.FileInfo) {
	t.Helper()
	s, err := memberstate.OpenFile(path, id)
	require.NoError(t, err)
	require.NotEmpty(t, s.Records())
	for range 600 {
		before, err = memberstate.InspectFile(path)
		require.NoError(t, err)
		if before.Used > before.Size-10*2*4096 {
			break
		}
		require.NoError(t, s.Save(s.Records()))
	}
	require.NoError(t, s.Close())
	return before
}

// A store reserves its room when it is made, so a node on a full disk goes on voting, even when
// its file is full and the next one takes its place. Only a new store is refused.
func TestANodeOnAFullDiskGoesOnVoting(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 0)
	c := newCluster(t, clusterOptions{size: 3, data: map[string]string{"n0": disk}})
	led := c.leaderAfter(0)
	for range 4 { // after these it has recorded on disk that it has heard both others
		c.followed(led.Term)
		c.order("resign", led.Node)
		led = c.leaderAfter(led.Term)
	}
	c.followed(led.Term)
	path := node.StorePath(disk, "n0")
	require.Eventually(t, func() bool {
		info, err := memberstate.InspectFile(path)
		return err == nil && info.Next == info.Size
	}, 20*time.Second, 10*time.Millisecond, "its next file is there")
	c.kill("n0")
	before := nearlyFull(t, path, "n0")
	fill(t, disk)
	c.start("n0")
	if led.Node == "n0" {
		led = c.leaderAfter(led.Term)
	}
	for range 12 {
		c.followed(led.Term)
		c.order("resign", led.Node)
		led = c.leaderAfter(led.Term)
	}
	c.await("n0 votes", func(e node.Event) bool {
		return e.Node == "n0" && e.Event == "role" && e.Term == led.Term && e.Vote != ""
	})
	after, err := memberstate.InspectFile(path)
	require.NoError(t, err)
	assert.Greater(t, after.Generation, before.Generation, "another file has taken its place")
	_, err = c.run("serve", "--new", "--node", "n9", "--members", "n9=127.0.0.1:1", "--data", disk)
	assert.ErrorContains(t, err, "no space left on device")
	assert.ErrorContains(t, err, filepath.Join(disk, "n9.peers"), "the first file that a new node makes")
	assert.NoFileExists(t, node.StorePath(disk, "n9")+".new", "no partial file is left behind")
}

func TestANodeOnAReadOnlyDiskIsRefused(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, syscall.MS_RDONLY)
	c := newCluster(t, clusterOptions{size: 1})
	_, err := c.run("serve", "--new", "--node", "n9", "--members", "n9=127.0.0.1:1", "--data", disk)
	assert.ErrorContains(t, err, "read-only file system")
	assert.ErrorContains(t, err, filepath.Join(disk, "n9.peers"), "the first file that a new node makes")
}
