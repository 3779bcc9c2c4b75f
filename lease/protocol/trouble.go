// Trouble: what fails again and again, as all calls do while the database is down, is told
// at once, and then ever more rarely, with how often it has failed.

package protocol

import "time"

// trouble is what there is with one kind of call.
type trouble struct {
	failed time.Duration // when a call failed last
	quiet  time.Duration // how long nothing is told after it was told
	next   time.Duration // nothing is told before
	untold int           // failures since it was told
	told   bool          // and it was not told that calls work again
}

// How long nothing is told, at first and at last. Calls that have not failed for as long
// as that begin anew.
const shortestQuiet, longestQuiet = 10 * time.Second, 5 * time.Minute

// fails takes note of a call that has failed, and says whether that is to be told, and how
// many have failed since it was told before.
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

// works takes note of a call that has worked, and says whether that is to be told.
func (t *trouble) works() (tell bool) {
	tell, t.told = t.told, false
	return tell
}

// came tells what a call has come to, if there is something to tell.
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
