package disk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// A crash in a save of several groups leaves any part of it, but of each group the whole record.
func TestACrashKeepsAnyOfTheRecords(t *testing.T) {
	for bits, terms := range map[uint64][]memberstate.Term{0b000: {1, 1, 1}, 0b101: {7, 1, 9}, 0b111: {7, 8, 9}} {
		d := New([]string{"g0", "g1", "g2"}, 1)
		for place := range d.Durable {
			d.Write(place, memberstate.HardState{Term: 7 + memberstate.Term(place), Vote: 2})
		}
		assert.False(t, d.Crash(func() uint64 { return bits }))
		assert.Empty(t, d.Written)
		for place, hard := range d.Durable {
			assert.Equal(t, terms[place], hard.Term)
			assert.Equal(t, hard.Term > 1, hard.Vote == 2)
		}
	}
}

// The store that is shipped has what was synced, whatever a crash leaves of the rest.
func TestTheStoreKeepsWhatWasSynced(t *testing.T) {
	for random := range uint64(100) {
		d := New([]string{"g0", "g1"}, 1)
		d.UseStore()
		synced, next := memberstate.HardState{Term: 2, Vote: 3}, memberstate.HardState{Term: 3, Vote: 1}
		d.Write(1, synced)
		require.NoError(t, d.Sync())
		d.Write(1, next)
		assert.True(t, d.Crash(func() uint64 { return random }))
		require.NoError(t, d.Open())
		assert.Contains(t, []memberstate.HardState{synced, next}, d.Durable[1])
		assert.Equal(t, memberstate.HardState{Term: 1}, d.Durable[0])
	}
}
