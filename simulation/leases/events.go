// What is to happen, in the order in which it will.

package leases

// event is something that happens at a time.
type event struct {
	at     int64      // true time, in nanoseconds
	whose  *candidate // nil: the world's
	number int        // of the incarnation that it happens to; 0: to any
	do     func()
}

// events are sorted, the next one last; among equal times, in the order in which they
// were entered.
type events []event

func (q *events) push(e event) {
	all := append(*q, e)
	i := len(all) - 1
	for i > 0 && all[i-1].at <= e.at {
		all[i] = all[i-1]
		i--
	}
	all[i] = e
	*q = all
}

// next is the event that happens first, if there is one by then.
func (q *events) next(by int64) (e event, ok bool) {
	last := len(*q) - 1
	if last < 0 || (*q)[last].at > by {
		return event{}, false
	}
	e = (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e, true
}
