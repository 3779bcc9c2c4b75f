// One trial: a leader that has settled dies, and a majority gets to know another one.

package failover

import (
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/bench/virtual"
)

// Library is one of those compared, with whatever setting.
type Library[M any] struct {
	// Detection is T, the time after which a silent leader is taken for dead.
	Detection time.Duration
	// Found makes a group, one of which lacks an entry in its ledger.
	Found func(w *virtual.World[M], members, behind int) []virtual.Member[M]
}

// Trial is how one went. It lasts from the sending of the old leader's last heartbeat
// until a majority of all members knows another leader, in the same term.
type Trial struct {
	// Took is how long it lasted, in detection times.
	Took float64
	// Messages were sent meanwhile.
	Messages int
	// Contested: more than one member asked for votes. Only votes count: asking
	// whether one would get them changes nothing at the others, so it takes nothing
	// from anyone who asks at the same time.
	Contested bool
	// Split: votes were asked for in a term that came to no leader.
	Split bool
}

const (
	// settling is how many heartbeats a leader sends before it dies, so that round
	// trips have been measured.
	settling = 8
	// patience is after how many detection times a trial is over, leader or not.
	patience = 100
)

// trial watches a group.
type trial[M any] struct {
	world  virtual.World[M]
	voters int
	known  []knowledge
	leader knowledge // whom a majority knows; until it dies, whom all know

	beats   int // since it was known
	crashed bool
	asked   map[uint64]bool // the terms in which votes were asked for: did they get a leader?
	asking  uint64          // who asked
	rivals  bool
}

// knowledge is whom a member takes for the leader of which term.
type knowledge struct {
	term   uint64
	leader int
}

// nobody is known.
var nobody = knowledge{leader: virtual.Nobody}

// run runs the trial of a number. It is always the same one.
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

// settle gets a leader that everyone knows, up to when it has just sent its last
// heartbeat. It is false if messages were lost such that there is another leader then.
func (t *trial[M]) settle(library Library[M], s Scenario) bool {
	w := &t.world
	order := w.Random.Perm(s.Members) // the first is to lead, the last is the odd one out
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

// split says whether a term up to the leader's had votes asked for and no leader.
func (t *trial[M]) split() bool {
	for term, led := range t.asked {
		if !led && term <= t.leader.term {
			return true
		}
	}
	return false
}

// Beats counts the heartbeats of a leader whom everyone knows.
func (t *trial[M]) Beats(member int) {
	if !t.crashed && member == t.leader.leader {
		t.beats++
	}
}

// Asks counts who asks for votes, and in which terms.
func (t *trial[M]) Asks(member int, term uint64, preVote bool) {
	if preVote || !t.crashed {
		return
	}
	t.rivals = t.rivals || t.asking&^(1<<member) != 0
	t.asking |= 1 << member
	t.asked[term] = t.asked[term] || false
}

// Knows counts who knows whom.
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

// Pauses is of no interest: nobody hands over.
func (t *trial[M]) Pauses(int) {}

// share is how many know the same.
func (t *trial[M]) share(k knowledge) (n int) {
	for _, other := range t.known {
		if other == k {
			n++
		}
	}
	return n
}

// present is how many are there.
func (t *trial[M]) present() (n int) {
	for i := range t.voters {
		if !t.world.Dead(i) {
			n++
		}
	}
	return n
}
