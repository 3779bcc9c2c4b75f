// One trial: a settled leader dies, and a majority learns of another one.

package failover

import (
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/bench/virtual"
)

// Library is one of the compared libraries, with some setting.
type Library[M any] struct {
	// Detection is T, the time after which a silent leader is taken for dead.
	Detection time.Duration
	// Found makes a group, in which the ledger of behind lacks an entry.
	Found func(w *virtual.World[M], members, behind int) []virtual.Member[M]
}

// Trial is the result of one trial. It lasts from the sending of the old leader's last heartbeat
// until a majority of all members knows another leader, in the same term.
type Trial struct {
	// Took is its duration in detection times.
	Took float64
	// Messages is the number of messages sent in it.
	Messages int
	// Contested says that more than one member asked for votes, other than pre-votes.
	Contested bool
	// Split says that votes were asked for in a term that got no leader.
	Split bool
}

const (
	// settling is the number of heartbeats of a leader before it dies, so that round
	// trips have been measured.
	settling = 8
	// patience is the number of detection times after which a trial ends in any case.
	patience = 100
)

// trial watches a group.
type trial[M any] struct {
	world  virtual.World[M]
	voters int
	known  []knowledge
	leader knowledge // known to a majority; before the crash, known to all

	beats   int // since the leader was known
	crashed bool
	asked   map[uint64]bool // the terms in which votes were asked for; true: with a leader
	asking  uint64          // the set of members that asked
	rivals  bool
}

// knowledge is a term, and its leader.
type knowledge struct {
	term   uint64
	leader int
}

// nobody is the knowledge of no leader.
var nobody = knowledge{leader: virtual.Nobody}

// run runs the trial with a number, which determines it.
func run[M any](library Library[M], s Scenario, number uint64) (Trial, error) {
	for again := uint64(0); ; again++ {
		t := newTrial(library, s, number, again)
		if t.settle(library, s) {
			return t.crash(library.Detection), t.world.Err
		}
		if t.world.Err != nil {
			return Trial{}, t.world.Err
		}
	}
}

func newTrial[M any](library Library[M], s Scenario, number, again uint64) *trial[M] {
	t := &trial[M]{
		voters: s.Members, known: make([]knowledge, s.Members), leader: nobody, asked: map[uint64]bool{},
		world: virtual.World[M]{
			Delay:  time.Duration(s.Delay * float64(library.Detection)),
			Loss:   s.Loss,
			Random: rand.New(rand.NewPCG(number, again)),
		},
	}
	for i := range t.known {
		t.known[i] = nobody
	}
	t.world.Observer = t
	return t
}

// settle lets time pass until a leader that all know has just sent its last heartbeat. It
// returns false if that does not happen, because messages were lost.
func (t *trial[M]) settle(library Library[M], s Scenario) bool {
	w := &t.world
	order := w.Random.Perm(s.Members) // the first will lead, the last is dead or behind
	odd := order[s.Members-1]
	behind := virtual.Nobody
	if s.Behind {
		behind = odd
	}
	w.Found(library.Found(w, s.Members, behind))
	for i := range s.Members {
		if i != odd || !s.Dead {
			w.Start(i)
		}
	}
	w.Stand(order[0])
	for limit := patience * library.Detection; t.beats < settling; {
		if !w.Step() || w.Now() > limit {
			return false
		}
	}
	return true
}

// crash kills the leader and waits for another one.
func (t *trial[M]) crash(unit time.Duration) Trial {
	w := &t.world
	died, old := w.Now(), t.leader
	w.Kill(old.leader)
	t.crashed, w.Messages = true, 0
	for t.leader == old && w.Now()-died < patience*unit && w.Step() {
	}
	return Trial{
		Took: float64(w.Now()-died) / float64(unit), Messages: w.Messages,
		Contested: t.rivals, Split: t.split(),
	}
}

// split reports whether votes were asked for in a term that got no leader, up to the leader's.
func (t *trial[M]) split() bool {
	for term, led := range t.asked {
		if !led && term <= t.leader.term {
			return true
		}
	}
	return false
}

// Beats counts the heartbeats of a leader that all know.
func (t *trial[M]) Beats(member int) {
	if !t.crashed && member == t.leader.leader {
		t.beats++
	}
}

// Asks notes the members that ask for votes, and the terms.
func (t *trial[M]) Asks(member int, term uint64, preVote bool) {
	if preVote || !t.crashed {
		return
	}
	t.rivals = t.rivals || t.asking&^(1<<member) != 0
	t.asking |= 1 << member
	t.asked[term] = t.asked[term] || false
}

// Knows notes the leader that a member knows.
func (t *trial[M]) Knows(member int, term uint64, leader int) {
	k := knowledge{term, leader}
	t.known[member] = k
	if leader == virtual.Nobody {
		if !t.crashed {
			t.leader, t.beats = nobody, 0
		}
		return
	}
	if t.crashed {
		t.asked[term] = true
		if term > t.leader.term && t.share(k) >= t.voters/2+1 {
			t.leader = k
		}
	} else if t.share(k) == t.present() {
		t.leader = k
	}
}

// Pauses is ignored, because there are no handovers.
func (t *trial[M]) Pauses(int) {}

// share returns how many members have the same knowledge.
func (t *trial[M]) share(k knowledge) (n int) {
	for _, other := range t.known {
		if other == k {
			n++
		}
	}
	return n
}

// present returns how many voters are alive.
func (t *trial[M]) present() (n int) {
	for i := range t.voters {
		if !t.world.Dead(i) {
			n++
		}
	}
	return n
}
