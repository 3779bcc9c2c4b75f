// The messages and beats on their way to a node, in the order of their arrival.

package rpc

import "time"

// flying is a message or a beat on its way.
type flying struct {
	due     time.Time
	number  uint64
	message Message
	beat    *Beat // nil: it is a message
}

// flight is a heap, ordered by arrival. Of two that arrive at the same
// time, the one sent first comes first.
type flight []flying

func (f flight) before(i, j int) bool {
	if !f[i].due.Equal(f[j].due) {
		return f[i].due.Before(f[j].due)
	}
	return f[i].number < f[j].number
}

func (f *flight) push(m flying) {
	*f = append(*f, m)
	f.up(len(*f) - 1)
}

func (f *flight) pop() flying {
	first := (*f)[0]
	f.remove(0)
	return first
}

func (f *flight) remove(i int) {
	last := len(*f) - 1
	(*f)[i] = (*f)[last]
	(*f)[last] = flying{}
	*f = (*f)[:last]
	if i < last {
		f.up(i)
		f.down(i)
	}
}

func (f flight) up(i int) {
	for parent := (i - 1) / 2; i > 0 && f.before(i, parent); parent = (i - 1) / 2 {
		f[i], f[parent] = f[parent], f[i]
		i = parent
	}
}

func (f flight) down(i int) {
	for child := 2*i + 1; child < len(f); child = 2*i + 1 {
		if child+1 < len(f) && f.before(child+1, child) {
			child++
		}
		if !f.before(child, i) {
			return
		}
		f[i], f[child] = f[child], f[i]
		i = child
	}
}
