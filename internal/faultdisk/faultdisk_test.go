//go:build linux

package faultdisk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mounted is a disk, and a file on it that is open.
func mounted(t *testing.T) (*Disk, *os.File) {
	t.Helper()
	at := t.TempDir()
	d, err := Mount(t.TempDir(), at)
	if err != nil {
		t.Skipf("it needs root and /dev/fuse: %v", err)
	}
	f, err := os.Create(filepath.Join(at, "file"))
	require.NoError(t, err)
	t.Cleanup(func() {
		d.Heal()
		assert.NoError(t, f.Close())
		assert.NoError(t, d.Unmount())
	})
	return d, f
}

func TestFilesAreThoseOfTheFolder(t *testing.T) {
	folder, at := t.TempDir(), t.TempDir()
	d, err := Mount(folder, at)
	if err != nil {
		t.Skipf("it needs root and /dev/fuse: %v", err)
	}
	defer func() { assert.NoError(t, d.Unmount()) }()
	require.NoError(t, os.Mkdir(filepath.Join(at, "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(at, "a", "b"), []byte("text"), 0o600))
	require.NoError(t, os.Rename(filepath.Join(at, "a", "b"), filepath.Join(at, "c")))
	text, err := os.ReadFile(filepath.Join(folder, "c"))
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
}

func TestAFullDiskRefusesWhatChangesIt(t *testing.T) {
	d, f := mounted(t)
	d.Fill()
	_, err := f.WriteString("text")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, os.Mkdir(f.Name()+"s", 0o700), syscall.ENOSPC)
	_, err = os.ReadFile(f.Name())
	require.NoError(t, err, "reading goes on")
	d.Heal()
	_, err = f.WriteString("text")
	require.NoError(t, err)
}

func TestADiskThatHangsGoesOnWhenItIsHealed(t *testing.T) {
	d, f := mounted(t)
	for _, change := range []func() error{
		func() error { _, err := f.WriteString("text"); return err },
		f.Sync,
		func() error { return os.Rename(f.Name(), f.Name()+"2") },
		func() error { return os.WriteFile(f.Name()+"3", nil, 0o600) },
	} {
		d.Hang()
		done := make(chan error, 1)
		go func() { done <- change() }()
		require.Eventually(t, func() bool { return d.Held() == 1 }, time.Minute, time.Millisecond)
		assert.Empty(t, done, "it waits")
		d.Heal()
		require.NoError(t, <-done)
	}
}

func TestASlowDiskDelaysWhatChangesIt(t *testing.T) {
	d, f := mounted(t)
	delays := make(chan time.Duration, 2)
	d.mu.Lock()
	d.sleep = func(delay time.Duration) { delays <- delay }
	d.mu.Unlock()
	d.Slow(time.Hour)
	require.NoError(t, f.Sync())
	assert.Equal(t, time.Hour, <-delays)
	d.Heal()
	require.NoError(t, f.Sync())
	assert.Zero(t, <-delays)
}
