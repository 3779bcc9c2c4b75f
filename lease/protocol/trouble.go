// Trouble: calls that fail again and again, as all do while the database is down, are reported
// at once, and then ever more rarely, with the number of failures.

package protocol

import "time"

// trouble is the record of failures of one kind of call.
type trouble struct {
	failed time.Duration // the last failure
	quiet  time.Duration // the present interval between two reports
	next   time.Duration // the earliest time of the next report
	untold int           // failures since the last report
	told   bool          // failures were reported, and success was not since
}

// The shortest and the longest interval between two reports. After an interval without a
// failure they begin anew.
const shortestQuiet, longestQuiet = 10 * time.Second, 5 * time.Minute

// fails notes a failed call, and returns whether to report it, and how many have failed since
// the last report.
func (t *trouble) fails(now time.Duration) (failures int, tell bool) {
	calm := t.quiet == 0 || now-t.failed > t.quiet
	t.failed = now
	t.untold++
	switch {
	case calm:
		t.quiet = shortestQuiet
	case now < t.next:
		return 0, false
	default:
		t.quiet = min(2*t.quiet, longestQuiet)
	}
	failures = t.untold
	t.next, t.untold, t.told = now+t.quiet, 0, true
	return failures, true
}

// works notes a call that has worked, and returns whether to report it.
func (t *trouble) works() (tell bool) {
	tell, t.told = t.told, false
	return tell
}

// came reports the result of a call, if it is news.
func (k *Keeper) came(n Note) {
	t := &k.troubles[n.Kind]
	if n.Err == nil {
		if t.works() {
			k.fx.Tell(Note{Topic: Works, Kind: n.Kind})
		}
	} else if failures, tell := t.fails(k.now); tell {
		n.Topic, n.Count = Fails, failures
		k.fx.Tell(n)
	}
}
