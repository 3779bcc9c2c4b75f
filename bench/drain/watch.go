// What is seen of the groups: who leads them, and for how long nobody did.

package drain

import (
	"sync"
	"time"

	"github.com/hustings/hustings/bench/measure"
)

// nobody leads.
const nobody = -1

// watch is told of every pause and of every new leader.
type watch struct {
	began  time.Time
	mu     sync.Mutex
	groups []sight
	last   time.Duration // when a group last got a leader
}

// sight is what is seen of one group.
type sight struct {
	leader int
	term   uint64
	paused time.Duration // since when its leader takes no writes, because it hands over; negative: it takes them
	pauses int           // since the last note
	gap    time.Duration // the last one
}

func newWatch(groups int) *watch {
	w := &watch{began: time.Now(), groups: make([]sight, groups)}
	for g := range w.groups {
		w.groups[g].leader, w.groups[g].paused = nobody, -1
	}
	return w
}

// pauses notes that the leader of a group is asked to take no more writes. A second pause before there is another
// leader is the same gap.
func (w *watch) pauses(group int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.groups[group]
	s.pauses++
	if s.paused < 0 {
		s.paused = time.Since(w.began)
	}
}

// leads notes that a node has begun to lead a group.
func (w *watch) leads(node, group int, term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.groups[group]
	if term <= s.term {
		return
	}
	w.last = time.Since(w.began)
	s.leader, s.term = node, term
	if s.paused >= 0 {
		s.gap, s.paused = w.last-s.paused, -1
	}
}

// is reports whether a condition holds for all groups.
func (w *watch) is(so func(group int, s *sight) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g := range w.groups {
		if !so(g, &w.groups[g]) {
			return false
		}
	}
	return true
}

// note is how things stand before a drain.
type note struct {
	at     time.Duration
	groups []sight
}

// note begins to count pauses anew.
func (w *watch) note() note {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g := range w.groups {
		w.groups[g].pauses = 0
	}
	return note{time.Since(w.began), append([]sight(nil), w.groups...)}
}

// since says what has happened since then to the groups that a node led, and to all others.
func (w *watch) since(n note, node int, serving []int) (d Drain) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var gaps []float64
	for g := range w.groups {
		s, before := &w.groups[g], &n.groups[g]
		switch {
		case before.leader != node:
			if s.term != before.term || s.pauses > 0 {
				d.Disturbed++
			}
		case s.leader == node:
			d.Left++
		default:
			d.Moved++
			gaps = append(gaps, 1000*s.gap.Seconds())
			if s.pauses > 1 {
				d.Again++
			}
		}
	}
	d.Seconds = (w.last - n.at).Seconds()
	d.P50, d.P99, d.Longest = measure.Quantile(gaps, 0.5), measure.Quantile(gaps, 0.99), measure.Quantile(gaps, 1)
	d.Load = w.load(serving)
	return d
}

// spread returns how many groups the most loaded of these nodes leads, divided by the mean.
func (w *watch) spread(of []int) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.load(of)
}

func (w *watch) load(of []int) float64 {
	var leads [hosts]int
	for g := range w.groups {
		if leader := w.groups[g].leader; leader != nobody {
			leads[leader]++
		}
	}
	most, all := 0, 0
	for _, node := range of {
		most, all = max(most, leads[node]), all+leads[node]
	}
	if all == 0 {
		return 0
	}
	return float64(most*len(of)) / float64(all)
}
