// What a machine is, apart from what it does: a small value.

package elector

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestMachineIsASmallValue(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Machine{}), uintptr(200))
	machine := reflect.TypeOf(Machine{})
	assert.True(t, machine.Comparable())
	assertPlain(t, machine, "Machine")
	assertPlain(t, reflect.TypeOf(Input{}), "Input")
}

// assertPlain checks that a type holds nothing but numbers and booleans.
func assertPlain(t *testing.T, typ reflect.Type, path string) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Struct:
		for field := range typ.Fields() {
			assertPlain(t, field.Type, path+"."+field.Name)
		}
	case reflect.Array:
		assertPlain(t, typ.Elem(), path+"[]")
	case reflect.Bool, reflect.Uint8, reflect.Uint32, reflect.Uint64, reflect.Int64:
	default:
		assert.Failf(t, "not plain", "%s is a %v", path, typ)
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	s := newStage(t, stageOptions{members: threeVoters()})
	leader := s.elect()
	m, out := leader.machine, new(Output)
	in := &Input{Kind: Ring, Number: m.alarm}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		copied := m
		copied.Step(&leader.rules, in, out)
	}))
}
