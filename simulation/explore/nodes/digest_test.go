package nodes

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A field that has another name now would count again, and a search would take longer for no reason.
func TestFieldsThatAreLeftOutExist(t *testing.T) {
	fields := make(map[string]bool)
	collect(reflect.TypeFor[process](), make(map[reflect.Type]bool), fields)
	for name := range leftOut {
		assert.True(t, fields[name], "no field %s", name)
	}
}

// collect collects the fields of a type, and of all types that can be reached from it.
func collect(of reflect.Type, seen map[reflect.Type]bool, fields map[string]bool) {
	if seen[of] {
		return
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Struct:
		for field := range of.Fields() {
			fields[of.Name()+"."+field.Name] = true
			collect(field.Type, seen, fields)
		}
	case reflect.Map:
		collect(of.Key(), seen, fields)
		collect(of.Elem(), seen, fields)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		collect(of.Elem(), seen, fields)
	default: // it leads to no other
	}
}
