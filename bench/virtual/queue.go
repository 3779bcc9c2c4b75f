// Messages in flight. All take the same time, so they arrive in the order of sending.

package virtual

import "time"

// parcel is a message in flight, or the end of a connection, behind all its messages.
type parcel[M any] struct {
	at       time.Duration
	from, to int
	broken   bool
	message  M
}

// queue is a ring of parcels.
type queue[M any] struct {
	ring        []parcel[M] // its length is a power of two
	head, count int
}

// put sends a message; nil is the end of the connection.
func (q *queue[M]) put(at time.Duration, from, to int, m *M) {
	if q.count == len(q.ring) {
		q.grow()
	}
	p := &q.ring[(q.head+q.count)&(len(q.ring)-1)]
	p.at, p.from, p.to, p.broken = at, from, to, m == nil
	if m != nil {
		p.message = *m
	}
	q.count++
}

func (q *queue[M]) grow() {
	wider := make([]parcel[M], max(16, 2*len(q.ring)))
	n := copy(wider, q.ring[q.head:])
	copy(wider[n:], q.ring[:q.head])
	q.ring, q.head = wider, 0
}

// first returns the next arrival; nil if there is none.
func (q *queue[M]) first() *parcel[M] {
	if q.count == 0 {
		return nil
	}
	return &q.ring[q.head]
}

func (q *queue[M]) drop() {
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.count--
}
