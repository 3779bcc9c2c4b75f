// Crashes after every operation on the disk, with every state that they may leave.

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
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

// room is so small that the file is full after a few saves.
const room = 14

// model predicts the content of a store after a crash: all acknowledged saves, and the batch
// that was being saved, either as a whole or not at all.
type model struct {
	created  bool
	acked    map[string]memberstate.Record
	underway []memberstate.Record
}

// with returns the acknowledged records updated by the batch under way.
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

// allows says what is wrong with the records found in a store; empty if nothing is.
func (m *model) allows(found []memberstate.Record) string {
	if slices.Equal(found, sortedRecords(m.acked)) || slices.Equal(found, sortedRecords(m.with())) {
		return ""
	}
	return fmt.Sprintf("acknowledged %v, under way %v, found %v", sortedRecords(m.acked), m.underway, found)
}

// script is a series of saves: single records, batches, and batches of several pages.
func script() [][]memberstate.Record {
	var saves [][]memberstate.Record
	for i := range memberstate.Term(12) {
		batch := []memberstate.Record{written(fmt.Sprint("g", i%3), i+1, "n1")}
		if i%4 == 1 {
			batch = append(batch, written("both", i+1, "n2"))
		}
		if i%4 == 3 {
			batch = append(batch, written(strings.Repeat("long", 1500), i+1, ""))
		}
		saves = append(saves, batch)
	}
	return saves
}

// live creates a store on a disk and plays a script. After every operation it calls step with
// the content that a crash must leave then. If the background is idle, saves do its work.
func live(t *testing.T, disk *crashdisk.Disk, script [][]memberstate.Record, idle bool, step func(m *model)) {
	t.Helper()
	m := &model{acked: map[string]memberstate.Record{}}
	run := putOff(disk)
	disk.After = func(string) { step(m) }
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	m.created = true
	run()
	for _, batch := range script {
		m.underway = batch
		require.NoError(t, s.Save(batch))
		m.acked, m.underway = m.with(), nil
		step(m)
		if !idle {
			run()
		}
	}
	disk.After = nil
}

func TestNoCrashLosesAnAcknowledgedSave(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	disk := new(crashdisk.Disk)
	crashes := 0
	live(t, disk, script(), false, func(m *model) {
		for after := range disk.States(random, effort.Of(1, 10)) {
			crashes++
			if m.created && m.underway == nil {
				require.True(t, memberstate.Clean(after.Get("n0")), "a save that was acknowledged is not there twice")
			}
			if !recovers(t, after, m) {
				t.FailNow()
			}
		}
	})
	t.Logf("%d crashes", crashes)
	assert.Greater(t, crashes, effort.Of(10_000, 1000))
}

// recovers opens the store that a crash has left, checks its content, and saves again.
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

// A member acts on the records that a recovery has found, so they must survive the next crash,
// and a crash during the recovery.
func TestRecoveredRecordsAreDurable(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	disk := new(crashdisk.Disk)
	crashes := 0
	live(t, disk, script(), false, func(m *model) {
		for after := range disk.States(random, effort.Of(1000, 3500)) {
			after.After = func(string) {
				for twice := range after.States(random, effort.Of(2, 20)) {
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
			for twice := range after.States(random, 1) {
				crashes++
				again, err := memberstate.OpenSmall(twice, "n0", "n0", room)
				require.NoError(t, err)
				require.Equal(t, found, again.Records())
			}
		}
	})
	t.Logf("%d crashes", crashes)
	assert.Greater(t, crashes, effort.Of(1000, 200))
}

// A process may die at any operation, and leave content and names in the system's cache that are
// not on the disk. Opening the store makes them durable before the member acts on them.
func TestRecordsInTheSystemsCacheAreMadeDurable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for n := 1; ; n++ {
		disk := new(crashdisk.Disk)
		m := &model{acked: map[string]memberstate.Record{}}
		if !diesAt(disk, n, m) {
			break
		}
		s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
		if !m.created && errors.Is(err, memberstate.ErrNoStore) {
			continue
		}
		require.NoError(t, err)
		require.Empty(t, m.allows(s.Records()))
		survives := func() {
			for after := range disk.States(random, 1) {
				again, err := memberstate.OpenSmall(after, "n0", "n0", room)
				require.NoError(t, err)
				require.Equal(t, s.Records(), again.Records(), "it died at operation %d", n)
			}
		}
		survives() // before the save, which would make the records durable, too
		require.NoError(t, s.Save([]memberstate.Record{written("after", 99, "n2")}))
		survives()
	}
}

// diesAt plays the script until the process dies before the n-th operation. It returns false if
// there are fewer operations.
func diesAt(disk *crashdisk.Disk, n int, m *model) (died bool) {
	disk.Before = func(string) error {
		if n--; n == 0 {
			panic("the process dies")
		}
		return nil
	}
	defer func() {
		died = recover() != nil
		disk.Before = nil
		disk.Unlock()
	}()
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	m.created = err == nil
	for _, batch := range script() {
		m.underway = batch
		if s.Save(batch) == nil {
			m.acked, m.underway = m.with(), nil
		}
	}
	return false
}
