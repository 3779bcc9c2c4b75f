package protocol

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// If one seat of a machine were not renamed with the others, the result would be another machine, and
// nothing else would show that.
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
