// Filling a value by reflection, so that fields that are added later are tested, too.

package rpctest

import (
	"fmt"
	"reflect"
	"testing"
)

// fill gives every field of a struct a value of its own, and another one for another first number.
func fill(t *testing.T, pointer any, first int) {
	t.Helper()
	next := first
	fillValue(t, reflect.ValueOf(pointer).Elem(), &next)
}

func fillValue(t *testing.T, v reflect.Value, next *int) {
	t.Helper()
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fillValue(t, field, next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(t, v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillValue(t, v.Index(i), next)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
	case reflect.Bool:
		v.SetBool(*next < 100)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.Int64:
		v.SetInt(int64(*next) * 1_000_000) // a duration in whole milliseconds, which a transport may round to
	default:
		t.Fatalf("there is a field of kind %v, which this test cannot fill", v.Kind())
	}
}
