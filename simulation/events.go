// What is to happen, in the order in which it will.

package simulation

// event is something that happens at a time. It is small and copied in whole words:
// there are millions.
type event struct {
	at   int64 // true time, in nanoseconds
	what uint64
}

// newEvent is one of a kind at a node, about a parcel or an incarnation or a term.
func newEvent(at int64, kind eventKind, node uint8, arg uint32) event {
	return event{at, uint64(kind)<<40 | uint64(node)<<32 | uint64(arg)}
}

func (e event) kind() eventKind { return eventKind(e.what >> 40) }
func (e event) node() uint8     { return uint8(e.what >> 32) }
func (e event) arg() uint32     { return uint32(e.what) }

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

// events are sorted, the next one last; among equal times, in the order in which they
// were entered. Few are on their way, and most that are entered come soon: a heap does
// more work.
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
	*q = (*q)[:last]
	return e, true
}
