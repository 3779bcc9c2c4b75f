package nodes

import (
	"fmt"
	"reflect"
	"sort"
	"testing"
)

func TestFields(t *testing.T) {
	x := newSearch(Options{Bounds: Bounds{Members: 2, Groups: 1, Terms: 2, Moments: 3, DropOuts: 0}, MaxStates: 1e5})
	t.Logf("%+v", x.run(t.Context()))
	names := map[string]bool{}
	var collect func(ty reflect.Type, seen map[reflect.Type]bool)
	collect = func(ty reflect.Type, seen map[reflect.Type]bool) {
		if seen[ty] {
			return
		}
		seen[ty] = true
		switch ty.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			collect(ty.Elem(), seen)
		case reflect.Map:
			collect(ty.Elem(), seen)
		case reflect.Struct:
			for i := range ty.NumField() {
				n := ty.Name() + "." + ty.Field(i).Name
				if leftOut[n] {
					continue
				}
				names[n] = true
				collect(ty.Field(i).Type, seen)
			}
		}
	}
	seen := map[reflect.Type]bool{}
	collect(reflect.TypeOf(process{}), seen)
	var ps []*process
	per := map[int]int{}
	for id := range x.table.nodes {
		ps = append(ps, x.table.remake(id))
		per[x.table.nodes[id].index]++
	}
	t.Log(len(ps), per)
	type c struct {
		n string
		k [2]int
	}
	var cs []c
	for n := range names {
		leftOut[n] = true
		var d [2]map[string]bool
		d[0], d[1] = map[string]bool{}, map[string]bool{}
		for _, p := range ps {
			d[p.index][p.digest()] = true
		}
		cs = append(cs, c{n, [2]int{len(d[0]), len(d[1])}})
		delete(leftOut, n)
	}
	sort.Slice(cs, func(i, j int) bool { return cs[i].k[0]+cs[i].k[1] < cs[j].k[0]+cs[j].k[1] })
	for _, one := range cs[:40] {
		fmt.Println(one)
	}
	for i, p := range x.table.parcels.all {
		fmt.Println(i, p.String(), p.to)
	}
}
