package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// A crash in a save of several groups leaves any part of it, but of each group the whole record.
func TestACrashKeepsAnyOfTheRecords(t *testing.T) {
	for bits, terms := range map[uint64][]memberstate.Term{0b000: {1, 1, 1}, 0b101: {7, 1, 9}, 0b111: {7, 8, 9}} {
		var d disk
		d.init(3, 1)
		for place := range d.durable {
			d.written = append(d.written, written{place, memberstate.HardState{Term: 7 + memberstate.Term(place), Vote: 2}})
		}
		d.keepSome(bits)
		for place, hard := range d.durable {
			assert.Equal(t, terms[place], hard.Term)
			assert.Equal(t, hard.Term > 1, hard.Vote == 2)
		}
	}
}
