package protocol

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// A machine in which somebody keeps an old seat when all others are renamed is another
// machine, and nobody would notice.
func TestEverySeatOfAMachineIsRenamed(t *testing.T) {
	var m Machine
	seats, sets := seatsIn(reflect.TypeFor[Machine]())
	assert.Len(t, m.members(), seats)
	assert.Len(t, m.sets(), sets)
}

// seatsIn counts the seats and the sets of seats in a type.
func seatsIn(of reflect.Type) (seats, sets int) {
	switch {
	case of == reflect.TypeFor[memberstate.Seat]():
		return 1, 0
	case of == reflect.TypeFor[memberstate.Set]():
		return 0, 1
	case of.Kind() == reflect.Array:
		seats, sets = seatsIn(of.Elem())
		return seats * of.Len(), sets * of.Len()
	case of.Kind() == reflect.Struct:
		for field := range of.Fields() {
			a, b := seatsIn(field.Type)
			seats, sets = seats+a, sets+b
		}
	}
	return seats, sets
}
