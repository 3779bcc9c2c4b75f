// Filling the next file while saves go on.

package memberstate_test

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// Each part is durable before the next one is written, so a save waits for one part at most.
func TestTheNextFileIsFilledInSmallParts(t *testing.T) {
	disk := new(crashdisk.Disk)
	run := putOff(disk)
	s, err := memberstate.CreateFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	var ops []string
	disk.After = func(op string) {
		if op == "write" || op == "sync" {
			ops = append(ops, op)
		}
	}
	run()
	require.Len(t, ops, 2*16, "4 MiB in parts of 256 KiB")
	for i, op := range ops {
		require.Equal(t, []string{"write", "sync"}[i%2], op, "operation %d", i)
	}
	closed(t, s)
}

// A save may find the next file ready in part. It fills the rest, so that the store has as much
// room in it as in any other.
func TestASaveFillsTheRestOfTheNextFile(t *testing.T) {
	disk, writes := new(crashdisk.Disk), 0
	run := putOff(disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 256)
	require.NoError(t, err)
	disk.Before = func(op string) error {
		if op == "write" {
			writes++
		}
		if writes > 2 {
			return syscall.EIO
		}
		return nil
	}
	run()
	require.Equal(t, 3, writes, "the next file is filled in four parts")
	disk.Before = nil
	room := s.Left()
	saves(t, s, 1, int(room)+1)
	assert.Equal(t, room-1, s.Left(), "the last save is in the new file")
	closed(t, s)
}

// A goroutine fills the next file while saves go on, and a save may need it meanwhile. If both used it
// at once, zeros could be written over the records of the store.
func TestTheNextFileIsUsedByOneAtATime(t *testing.T) {
	disk := new(crashdisk.Disk)
	run := putOff(disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 256)
	require.NoError(t, err)
	operations := map[string]int{}
	disk.Before = func(op string) error {
		operations[op]++
		assert.True(t, s.NextIsLocked(), "nobody has it during a %s", op)
		return nil
	}
	run()
	for _, op := range []string{"create", "link", "write", "sync"} {
		assert.Positive(t, operations[op], op)
	}
	assert.False(t, s.NextIsLocked())
	disk.Before = func(string) error {
		assert.False(t, s.NextIsLocked(), "a save that does not need it has it")
		return nil
	}
	saves(t, s, 1, s.Left())
	clear(operations)
	replaced := false
	disk.Before = func(op string) error {
		operations[op]++
		assert.Equal(t, !replaced, s.NextIsLocked(), "during a %s; the file is replaced: %v", op, replaced)
		return nil
	}
	disk.After = func(op string) { replaced = replaced || op == "syncdir" }
	saves(t, s, 1000, 1)
	assert.Equal(t, map[string]int{"write": 4 + 2, "sync": 1 + 1, "rename": 1, "syncdir": 1}, operations, "a snapshot, a header, and the save")
	assert.False(t, s.NextIsLocked())
	disk.Before = nil
	closed(t, s)
}

// If the disk fails to sync a part, it may have lost it, although a later sync succeeds.
func TestAPartThatMayBeLostIsFilledAgain(t *testing.T) {
	disk := new(crashdisk.Disk)
	run := putOff(disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 256)
	require.NoError(t, err)
	writes, syncs := 0, 0
	disk.Before = func(op string) error {
		switch op {
		case "write":
			writes++
		case "sync":
			if syncs++; syncs == 2 {
				return syscall.EIO
			}
		}
		return nil
	}
	run()
	require.Equal(t, 2, writes, "the next file is filled in four parts")
	disk.Before = nil
	saves(t, s, 1, 1)
	disk.Before = func(op string) error {
		if op == "write" {
			writes++
		}
		return nil
	}
	run()
	assert.True(t, s.Ready())
	assert.Equal(t, 2+3, writes, "the second part is filled twice")
	disk.Before = nil
	closed(t, s)
}

// The file beside the store may be longer than what could be filled with zeros. What is behind that would
// look like damage.
func TestANewFileUsesOnlyWhatIsZero(t *testing.T) {
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	next := saves(t, s, 1, s.Left())
	const part = 64 // pages
	disk.Set("n0.new", bytes.Repeat([]byte("something"), 3*part*memberstate.PageSize/9))
	size, writes := len(disk.Get("n0.new")), 0
	disk.Before = func(op string) error {
		if op == "write" {
			writes++
		}
		if op == "write" && writes == 2 {
			return syscall.EIO
		}
		return nil
	}
	next = saves(t, s, next, 1)
	disk.Before = nil
	assert.Equal(t, part/2-3, s.Left())
	assert.Len(t, disk.Get("n0"), size)
	assert.True(t, memberstate.Clean(disk.Get("n0")))
	closed(t, s)
	s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	assert.Equal(t, next-1, load(t, s, "g").Term)
	closed(t, s)
}
