// What is to happen, in the order in which it will.

package simulation

// event is something that happens at a time. It is small: there are millions.
type event struct {
	at   int64 // true time, in nanoseconds
	seq  uint32
	arg  uint32 // what it is about: a parcel, or an incarnation
	kind eventKind
	node uint8 // index
}

type eventKind uint8

const (
	parcelArrives  eventKind = iota // arg: its place in the pool
	saveEnds                        // arg: the incarnation that saves
	leaseEnds                       // arg: the incarnation that holds it
	engineTicks                     // arg: the term
	entriesWritten                  // arg: the incarnation
	leadReturns                     // arg: the incarnation
	faultStrikes
	strikePlanned // arg: its number
	strikeFollows // arg: its number
	nodeRestarts  // arg: the incarnation that ended
	pauseEnds     // arg: the incarnation
	diesInSave    // arg: the incarnation
	sluggishEnds
	diskRecovers
	troubleEnds // arg: its number
	branches    // arg: its number
)

// events is a heap by time, and among equal times by order of entry.
type events struct {
	heap []event
	seq  uint32
}

func (q *events) before(a, b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (q *events) push(e event) {
	q.seq++
	e.seq = q.seq
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !q.before(&e, &q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

func (q *events) pop() event {
	first := q.heap[0]
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	if len(q.heap) > 0 {
		q.sink(last)
	}
	return first
}

// sink puts an event where the first one was.
func (q *events) sink(e event) {
	i, n := 0, len(q.heap)
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && q.before(&q.heap[child+1], &q.heap[child]) {
			child++
		}
		if !q.before(&q.heap[child], &e) {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	q.heap[i] = e
}
