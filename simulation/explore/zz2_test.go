package explore

import (
	"fmt"
	"reflect"
	"sort"
	"testing"
	"unsafe"
)

func TestFields(t *testing.T) {
	b := Bounds{Members: n("M", 3), Terms: n("T", 1), Beats: n("H", 1), Entries: n("E", 0), NoPreVote: n("PV", 1) == 0, NoCrash: n("CR", 0) == 0, NoTransfer: n("CMD", 0) == 0, NoHints: n("HI", 0) == 0}
	x := newSearch(Options{Bounds: b})
	x.begin()
	for x.next < len(x.states) && len(x.states) < n("MAX", 300000) {
		x.expand(int32(x.next))
		x.next++
	}
	m := x.model
	// distinct nodes in states
	used := map[nodeID]bool{}
	tuples := map[[5]nodeID]int{}
	for i := range x.states {
		tuples[x.states[i].nodes]++
		for j := range b.Members {
			used[x.states[i].nodes[j]] = true
		}
	}
	t.Log("states", len(x.states), "tuples", len(tuples), "nodes", len(m.nodes), "used", len(used), "messages", len(m.messages), "locals", len(m.locals))
	type fld struct {
		name      string
		off, size uintptr
	}
	var fs []fld
	var walk func(p string, ty reflect.Type, off uintptr)
	walk = func(p string, ty reflect.Type, off uintptr) {
		if ty.Kind() == reflect.Struct {
			for i := range ty.NumField() {
				f := ty.Field(i)
				walk(p+"."+f.Name, f.Type, off+f.Offset)
			}
			return
		}
		fs = append(fs, fld{p, off, ty.Size()})
	}
	walk("", reflect.TypeOf(node{}), 0)
	var out []string
	for _, f := range fs {
		ids := map[node]nodeID{}
		to := map[nodeID]nodeID{}
		for id := range used {
			c := m.nodes[id]
			for k := range f.size {
				*(*byte)(unsafe.Add(unsafe.Pointer(&c), f.off+k)) = 0
			}
			if _, ok := ids[c]; !ok {
				ids[c] = id
			}
			to[id] = ids[c]
		}
		tt := map[[5]nodeID]bool{}
		for k := range tuples {
			var z [5]nodeID
			for j := range b.Members {
				z[j] = to[k[j]]
			}
			tt[z] = true
		}
		if len(tt) < len(tuples) {
			out = append(out, fmt.Sprintf("%8d tuples %6d nodes without %s", len(tt), len(ids), f.name))
		}
	}
	sort.Strings(out)
	for _, o := range out {
		t.Log(o)
	}
	// message kinds diversity
	kinds := map[string]map[string]bool{}
	for i := range m.messages {
		k := fmt.Sprint(m.messages[i].body.Kind, m.messages[i].engine)
		if kinds[k] == nil {
			kinds[k] = map[string]bool{}
		}
		kinds[k][fmt.Sprintf("%+v", m.messages[i])] = true
	}
	for k, v := range kinds {
		t.Log(k, len(v))
	}
	// said variety per tuple without each kind
	for k := range kinds {
		var mask said
		for i := range m.messages {
			if fmt.Sprint(m.messages[i].body.Kind, m.messages[i].engine) == k {
				mask.add(messageID(i))
			}
		}
		ss := map[state]bool{}
		for i := range x.states {
			s := x.states[i]
			for w := range s.said {
				s.said[w] &^= mask[w]
			}
			ss[s] = true
		}
		t.Log("states without", k, len(ss))
	}
}
