// Saves beside each other, and beside the end of the store.

package memberstate_test

import (
	"io/fs"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// heldUp is a store whose disk holds up every sync until the gate is open, and what it wants
// to do beside its saves.
func heldUp(t *testing.T) (s *memberstate.FileStore, disk *slowDisk, beside func()) {
	t.Helper()
	disk = &slowDisk{Disk: new(crashdisk.Disk), entered: make(chan struct{}, 10)}
	disk.Later = func(work func()) { beside = work }
	s, err := memberstate.CreateFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	disk.gate = make(chan struct{})
	return s, disk, beside
}

// A save returns when its own records are durable, or could not be made so: whoever joins a
// write shares its outcome, also if it fails.
func TestWhoJoinsAWriteSharesItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk, _ := heldUp(t)
		groups := []string{"first", "second", "third"}
		outcomes := map[string]error{}
		var mu sync.Mutex
		for _, group := range groups {
			go func() {
				err := s.Save([]memberstate.Record{written(group, 1, "n1")})
				mu.Lock()
				defer mu.Unlock()
				outcomes[group] = err
			}()
			synctest.Wait() // the second waits for the disk, and the third joins it
		}
		assert.Empty(t, outcomes, "none returns before the disk has done anything")
		syncs := 0
		disk.Before = func(op string) error {
			if op == "sync" {
				if syncs++; syncs == 2 {
					return syscall.EIO
				}
			}
			return nil
		}
		close(disk.gate)
		synctest.Wait()
		require.Len(t, outcomes, len(groups))
		assert.NoError(t, outcomes["first"])
		for _, group := range groups[1:] {
			assert.ErrorIs(t, outcomes[group], memberstate.ErrStoreBroken, group)
			assert.ErrorIs(t, outcomes[group], syscall.EIO, group)
		}
		disk.Before = nil
		closed(t, s)
	})
}

// Close returns when nothing touches the file any more: neither a save that is under way, which
// is carried out, nor what is done beside saves. A save that comes later is refused.
func TestCloseWaitsForTheDisk(t *testing.T) {
	for _, saving := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, disk, beside := heldUp(t)
			var saved, late error
			if saving {
				go func() { saved = s.Save([]memberstate.Record{written("g", 1, "n1")}) }()
			} else {
				go beside()
			}
			synctest.Wait()
			require.Len(t, disk.entered, 1, "the disk is busy")
			over := false
			go func() {
				assert.NoError(t, s.Close())
				over = true
			}()
			synctest.Wait()
			go func() { late = s.Save([]memberstate.Record{written("late", 1, "n1")}) }()
			synctest.Wait()
			assert.False(t, over)
			close(disk.gate)
			synctest.Wait()
			assert.True(t, over)
			assert.NoError(t, saved)
			assert.ErrorIs(t, late, fs.ErrClosed)
			again, err := memberstate.OpenFileOn(disk.Disk, "n0", "n0")
			require.NoError(t, err)
			assert.Len(t, again.Records(), map[bool]int{true: 1}[saving])
			closed(t, again)
		})
	}
}
