// Concurrent saves, and saves during Close.

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

// onSlowDisk is a store whose disk blocks every sync, and its background work.
func onSlowDisk(t *testing.T) (s *memberstate.FileStore, disk *slowDisk, background func()) {
	t.Helper()
	disk = &slowDisk{Disk: new(crashdisk.Disk), entered: make(chan struct{}, 10)}
	disk.Later = func(work func()) { background = work }
	s, err := memberstate.CreateFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	disk.gate = make(chan struct{})
	return s, disk, background
}

// Saves that are written together succeed or fail together.
func TestSavesInOneWriteShareItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk, _ := onSlowDisk(t)
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
		assert.Empty(t, outcomes, "a save returned before its sync")
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

// Members read their state at any time, also while others save theirs.
func TestLoadsMayComeDuringSaves(t *testing.T) {
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", smallRoom)
	require.NoError(t, err)
	var loaders sync.WaitGroup
	ended := make(chan struct{})
	for range 2 {
		loaders.Go(func() {
			for seen := memberstate.Term(0); ; {
				r, _, err := s.Load("g")
				assert.NoError(t, err)
				assert.GreaterOrEqual(t, r.Term, seen)
				for _, r := range s.Records() {
					assert.GreaterOrEqual(t, r.Term, seen)
					seen = r.Term
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	saves(t, s, 1, 100)
	close(ended)
	loaders.Wait()
	closed(t, s)
}

// Close waits for a save under way, and for background work. A later save is refused.
func TestCloseWaitsForTheDisk(t *testing.T) {
	for _, saving := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, disk, background := onSlowDisk(t)
			var saved, late error
			if saving {
				go func() { saved = s.Save([]memberstate.Record{written("g", 1, "n1")}) }()
			} else {
				go background()
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
