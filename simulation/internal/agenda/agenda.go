// Package agenda holds what is going to happen in a world, in order: events of all kinds (Events),
// and the alarms of nodes (Alarms). All worlds share it.
package agenda

// Event is something that happens at a time.
type Event[E any] struct {
	At   int64 // true time, in nanoseconds
	What E
}

// Events are sorted, the next one last; among equal times, in the order in which they
// were entered. They are few, and most of those that are entered come soon, so a heap would do
// more work.
type Events[E any] []Event[E]

// Push enters an event.
func (q *Events[E]) Push(at int64, what E) {
	all := append(*q, Event[E]{})
	i := len(all) - 1
	for i > 0 && all[i-1].At <= at {
		all[i] = all[i-1]
		i--
	}
	all[i] = Event[E]{at, what}
	*q = all
}

// Next is the event that happens first, if there is one by then.
func (q *Events[E]) Next(by int64) (e Event[E], ok bool) {
	last := len(*q) - 1
	if last < 0 || (*q)[last].At > by {
		return e, false
	}
	e = (*q)[last]
	(*q)[last] = Event[E]{} // it may hold on to something
	*q = (*q)[:last]
	return e, true
}
