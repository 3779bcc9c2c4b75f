// One run: a group whose leader crashes at intervals, and comes back.

package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/adapter/ours"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/virtual"
)

const (
	members   = 5
	detection = time.Second
	delay     = detection / 100
	life      = 10 * detection // of a leader
	absence   = 3 * detection  // of a crashed leader
)

// Task says how often a leader crashes.
type Task struct{ Crashes int }

// Speed is the speed of a run, for each second of CPU time.
type Speed struct {
	Events float64 // deliveries and rings
	Time   float64 // in detection times
}

// Ours runs our machines.
func Ours(ctx context.Context, t Task) (Speed, error) {
	return speedOf(ctx, ours.Default(detection).Found, t.Crashes)
}

// Etcd runs the version of etcd/raft that is linked in.
func Etcd(ctx context.Context, t Task) (Speed, error) {
	defer etcd.Restore()
	return etcdOf(ctx, (*raft.RawNode).Step, t.Crashes)
}

func etcdOf[M any](ctx context.Context, step func(*raft.RawNode, M) error, crashes int) (Speed, error) {
	return speedOf(ctx, etcd.Found(step, detection/etcd.ElectionTicks), crashes)
}

// founder makes a group of one of the libraries.
type founder[M any] func(w *virtual.World[M], members, behind int) []virtual.Member[M]

func speedOf[M any](ctx context.Context, found founder[M], crashes int) (Speed, error) {
	before := measure.CPU()
	s := newSimulation(found)
	err := s.run(ctx, crashes)
	used := (measure.CPU() - before).Seconds()
	return Speed{float64(s.world.Events) / used, s.world.Now().Seconds() / detection.Seconds() / used}, err
}

// simulation is a world with its present leader.
type simulation[M any] struct {
	world  virtual.World[M]
	leader int
	term   uint64
}

func newSimulation[M any](found founder[M]) *simulation[M] {
	s := &simulation[M]{leader: virtual.Nobody}
	w := &s.world
	*w = virtual.World[M]{Delay: delay, Random: rand.New(rand.NewPCG(1, 1)), Observer: s}
	w.Found(found(w, members, virtual.Nobody))
	for i := range members {
		w.Start(i)
	}
	return s
}

// run makes the leader crash a number of times.
func (s *simulation[M]) run(ctx context.Context, crashes int) error {
	w := &s.world
	for range crashes {
		if w.Until(w.Now() + life); ctx.Err() != nil {
			return ctx.Err()
		}
		down := s.leader
		if down == virtual.Nobody {
			return fmt.Errorf("events: there is no leader at %v", w.Now())
		}
		s.leader = virtual.Nobody
		w.Kill(down)
		w.Until(w.Now() + absence)
		w.Start(down)
	}
	return w.Err
}

// Beats is ignored.
func (s *simulation[M]) Beats(int) {}

// Asks is ignored.
func (s *simulation[M]) Asks(int, uint64, bool) {}

// Knows notes the leader of the newest term.
func (s *simulation[M]) Knows(_ int, term uint64, leader int) {
	if leader != virtual.Nobody && term >= s.term && !s.world.Dead(leader) {
		s.leader, s.term = leader, term
	}
}

// Pauses is ignored, because there are no handovers.
func (s *simulation[M]) Pauses(int) {}
