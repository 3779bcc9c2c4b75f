// Trouble: what fails again and again, as all calls do while the database is down, is told
// at once, and then ever more rarely, with how often it has failed.

package lease

import (
	"log/slog"
	"sync"
	"time"
)

// trouble is what there is with one kind of call.
type trouble struct {
	mu     sync.Mutex
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
	t.mu.Lock()
	defer t.mu.Unlock()
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
	t.mu.Lock()
	defer t.mu.Unlock()
	tell, t.told = t.told, false
	return tell
}

// kinds are the kinds of calls: what is told of those that fail, and of the first that
// works again.
var kinds = [kindCount]struct{ fails, works string }{
	reading:   {"leases could not be read", "leases can be read again"},
	claiming:  {"the lease could not be claimed", "leases can be claimed again"},
	renewing:  {"leases were not renewed", "leases are renewed again"},
	releasing: {"the lease could not be released; that is tried again until it has run out", "leases can be released again"},
	waking:    {"nobody was woken for a released lease", "others are woken again"},
	listening: {fails: "cannot listen for released leases"}, // what works does not return
}

// came tells what a call has come to, if there is something to tell. Its caller holds no
// lock.
func (k *Keeper) came(kind int, err error, args ...any) {
	t := &k.troubles[kind]
	if err == nil {
		if t.works() {
			k.log.Info(kinds[kind].works)
		}
		return
	}
	if failures, tell := t.fails(k.now()); tell {
		k.log.Warn(kinds[kind].fails, append(args, "error", err, slog.Int("failures", failures))...)
	}
}
