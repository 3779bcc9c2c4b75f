// One run: a group whose leader crashes every so often, and comes back.

package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/etcd"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/ours"
	"github.com/hustings/hustings/bench/virtual"
)

const (
	members   = 5
	detection = time.Second
	delay     = detection / 100
	life      = 10 * detection // of a leader
	absence   = 3 * detection  // of who has crashed
)

// Task says how often a leader crashes.
type Task struct{ Crashes int }

// Speed is how fast a run was, in a second of CPU time.
type Speed struct {
	Events float64 // deliveries and rings
	Time   float64 // in detection times
}

// Ours runs our machines.
func Ours(ctx context.Context, t Task) (Speed, error) {
	return run(ctx, ours.Default(detection).Found, t.Crashes)
}

// Etcd runs the version of etcd/raft that is linked in.
func Etcd(ctx context.Context, t Task) (Speed, error) {
	defer etcd.Restore()
	return etcdOf(ctx, (*raft.RawNode).Step, t.Crashes)
}

func etcdOf[M any](ctx context.Context, step func(*raft.RawNode, M) error, crashes int) (Speed, error) {
	return run(ctx, etcd.Found(step, detection/etcd.ElectionTicks), crashes)
}

func run[M any](ctx context.Context, found func(*virtual.World[M], int, int) []virtual.Member[M], crashes int) (Speed, error) {
	s := &simulation[M]{leader: virtual.Nobody}
	s.world = virtual.World[M]{Delay: delay, Random: rand.New(rand.NewPCG(1, 1)), Observer: s}
	w := &s.world
	before := measure.CPU()
	w.Found(found(w, members, virtual.Nobody))
	for i := range members {
		w.Start(i)
	}
	for range crashes {
		if s.until(w.Now() + life); ctx.Err() != nil {
			return Speed{}, ctx.Err()
		}
		down := s.leader
		if down == virtual.Nobody {
			return Speed{}, fmt.Errorf("events: nobody leads at %v", w.Now())
		}
		s.leader = virtual.Nobody
		w.Kill(down)
		s.until(w.Now() + absence)
		w.Start(down)
	}
	used := (measure.CPU() - before).Seconds()
	return Speed{float64(w.Events) / used, w.Now().Seconds() / detection.Seconds() / used}, w.Err
}

// simulation knows who leads.
type simulation[M any] struct {
	world  virtual.World[M]
	leader int
	term   uint64
}

// until lets time pass.
func (s *simulation[M]) until(then time.Duration) {
	for s.world.Now() < then && s.world.Step() {
	}
}

// Beats is of no interest.
func (s *simulation[M]) Beats(int) {}

// Asks is of no interest.
func (s *simulation[M]) Asks(int, uint64, bool) {}

// Knows notes the leader of the newest term.
func (s *simulation[M]) Knows(_ int, term uint64, leader int) {
	if leader != virtual.Nobody && term >= s.term && !s.world.Dead(leader) {
		s.leader, s.term = leader, term
	}
}
