// Crashes: after every operation on the disk, in every state that they may leave.

package memberstate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// room is so small that the file is written anew every few saves.
const room = 14

// model is what a store must hold after a crash: what was acknowledged, and
// perhaps, as a whole, the batch that was being saved.
type model struct {
	created  bool
	acked    map[string]memberstate.Record
	underway []memberstate.Record
}

// with is what was acknowledged and the batch under way.
func (m *model) with() map[string]memberstate.Record {
	all := map[string]memberstate.Record{}
	for _, r := range slices.Concat(sortedRecords(m.acked), m.underway) {
		all[r.Group] = r
	}
	return all
}

func sortedRecords(m map[string]memberstate.Record) []memberstate.Record {
	var all []memberstate.Record
	for _, r := range m {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b memberstate.Record) int { return strings.Compare(a.Group, b.Group) })
	return all
}

// allows says what is wrong with what a store holds; empty if nothing is.
func (m *model) allows(found []memberstate.Record) string {
	if slices.Equal(found, sortedRecords(m.acked)) || slices.Equal(found, sortedRecords(m.with())) {
		return ""
	}
	return fmt.Sprintf("acknowledged %v, under way %v, found %v", sortedRecords(m.acked), m.underway, found)
}

// script is a life of saves: single ones, batches, and one over several pages.
func script() [][]memberstate.Record {
	var saves [][]memberstate.Record
	for i := range memberstate.Term(12) {
		batch := []memberstate.Record{written(fmt.Sprint("g", i%3), i+1, "n1")}
		switch i % 4 {
		case 1:
			batch = append(batch, written("both", i+1, "n2"))
		case 3:
			batch = append(batch, written(strings.Repeat("long", 1500), i+1, ""))
		}
		saves = append(saves, batch)
	}
	return saves
}

// live creates a store on a disk and plays the script; step is called after
// every operation with what a crash must leave then.
func live(t *testing.T, disk *crashdisk.Disk, step func(m *model)) {
	t.Helper()
	m := &model{acked: map[string]memberstate.Record{}}
	disk.After = func(string) { step(m) }
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	m.created = true
	for _, batch := range script() {
		m.underway = batch
		require.NoError(t, s.Save(batch))
		m.acked, m.underway = m.with(), nil
		step(m)
	}
	disk.After = nil
}

func TestNoCrashLosesWhatWasAcknowledged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	disk := new(crashdisk.Disk)
	crashes := 0
	live(t, disk, func(m *model) {
		for after := range disk.States(random) {
			crashes++
			if !recovers(t, after, m) {
				t.FailNow()
			}
		}
	})
	t.Logf("%d crashes", crashes)
	assert.Greater(t, crashes, 3000)
}

// recovers opens what a crash has left, and saves on. It crashes again while it does,
// once in a while.
func recovers(t *testing.T, disk *crashdisk.Disk, m *model) bool {
	t.Helper()
	s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
	if !m.created && errors.Is(err, memberstate.ErrNoStore) {
		s, err = memberstate.CreateSmall(disk, "n0", "n0", room)
	}
	if !assert.NoError(t, err) || !assert.Empty(t, m.allows(s.Records())) {
		return false
	}
	next := written("after", 99, "n2")
	ok := assert.NoError(t, s.Save([]memberstate.Record{next})) && assert.Equal(t, next, load(t, s, "after"))
	return ok && assert.NoError(t, s.Close())
}

// What was found after a crash has been acted on, so it must survive the next one:
// also one in the middle of the recovery.
func TestWhatARecoveryFoundIsDurable(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	disk := new(crashdisk.Disk)
	crashes := 0
	live(t, disk, func(m *model) {
		for after := range disk.States(random) {
			if random.IntN(100) > 0 {
				continue // there are too many; any of them may be drawn
			}
			after.After = func(string) {
				for twice := range after.States(random) {
					crashes++
					require.True(t, recovers(t, twice, m))
				}
			}
			s, err := memberstate.OpenSmall(after, "n0", "n0", room)
			after.After = nil
			if !m.created && errors.Is(err, memberstate.ErrNoStore) {
				continue
			}
			require.NoError(t, err)
			found := s.Records()
			for twice := range after.States(random) {
				crashes++
				again, err := memberstate.OpenSmall(twice, "n0", "n0", room)
				require.NoError(t, err)
				require.Equal(t, found, again.Records())
			}
		}
	})
	t.Logf("%d crashes", crashes)
	assert.Greater(t, crashes, 1000)
}

// A process may die and leave in the system's cache what is not on the disk. Who
// opens the store then makes it durable before anyone acts on it.
func TestWhatIsOnlyInTheCacheIsMadeDurable(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	dies := errors.New("the process dies")
	disk.Before = func(op string) error {
		if op == "sync" {
			panic(dies) // before the disk has done anything
		}
		return nil
	}
	assert.PanicsWithError(t, dies.Error(), func() { _ = s.Save([]memberstate.Record{written("g", 1, "n1")}) })
	disk.Before = nil
	disk.Unlock()
	s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	assert.Equal(t, written("g", 1, "n1"), load(t, s, "g"))
	for after := range disk.States(rand.New(rand.NewPCG(3, 3))) {
		again, err := memberstate.OpenSmall(after, "n0", "n0", room)
		require.NoError(t, err)
		assert.Equal(t, written("g", 1, "n1"), load(t, again, "g"))
	}
}
