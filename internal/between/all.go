// All windows of all pairs of operations.

package between

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Operation is what one goroutine does in a world.
type Operation struct {
	Name string
	Do   func()
	// Takes is how much time passes meanwhile; timers ring, and their goroutines are stopped, too. Zero: it takes no
	// time, so it ends at once, or waits for the other one.
	Takes time.Duration
	// Of names a goroutine whose operations never run beside one another; empty: any number of goroutines may do this
	// at once.
	Of string
	// Later says that it only comes between the statements of others.
	Later bool
}

// World is made for each play.
type World struct {
	Operations []Operation
	// Patience is how long an operation may take that has stood still. Zero: no timer may have to help.
	Patience time.Duration
	// Judge is called once both operations have ended. It ends all that still runs.
	Judge func(t *testing.T)
}

// All plays a world for all pairs of operations: at each point to which the first one comes, it stands still; the
// second one runs to its end, or until it waits; and the first one goes on. If twice, the second one stands still,
// too, at each of its points, until the first one has ended.
func All(t *testing.T, twice bool, begin func(t *testing.T) World) {
	t.Helper()
	var all []Operation
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		all = w.Operations
		w.Judge(t)
	})
	for i, first := range all {
		for j, second := range all {
			if first.Later || first.Of != "" && first.Of == second.Of {
				continue
			}
			p := pair{t: t, first: i, second: j, begin: begin, names: first.Name + ", and between: " + second.Name}
			plays, sites, _ := 0, p.play(site{}, site{}), 0
			for _, stop := range sites[0] {
				inner := p.play(stop, site{})
				plays++
				if !twice {
					continue
				}
				for _, stop2 := range inner[1] {
					p.play(stop, stop2)
					plays++
				}
			}
			t.Logf("%s: %d points, %d plays", p.names, len(sites[0]), plays)
		}
	}
}

// pair is two operations of a world.
type pair struct {
	t             *testing.T
	first, second int
	begin         func(t *testing.T) World
	names         string
}

// play plays them once, and returns the points to which each of them came, or that came by meanwhile.
func (p *pair) play(stop, stop2 site) (came [2][]site) {
	p.t.Helper()
	ended := false
	defer func() {
		if !ended || p.t.Failed() {
			p.t.Logf("%s: the first stood before %v, the second before %v", p.names, stop, stop2)
		}
		current.Store(nil)
		if p.t.Failed() {
			p.t.FailNow()
		}
	}()
	synctest.Test(p.t, func(t *testing.T) {
		w := p.begin(t)
		synctest.Wait()
		r := &run{unlocked: make(chan struct{})}
		r.watch(stop)
		current.Store(r)
		var over [2]chan struct{}
		over[0] = start(&w.Operations[p.first])
		first := r.stands()
		came[0] = r.order
		r.watch(stop2)
		over[1] = start(&w.Operations[p.second])
		second := r.stands()
		came[1] = r.order
		r.watch(site{})
		for _, gate := range []chan struct{}{first, second} {
			if gate != nil {
				close(gate)
			}
			synctest.Wait()
		}
		<-time.After(w.Patience)
		synctest.Wait()
		current.Store(nil)
		for i, o := range over {
			select {
			case <-o:
			default:
				t.Errorf("%s does not end", w.Operations[[]int{p.first, p.second}[i]].Name)
			}
		}
		if !t.Failed() {
			w.Judge(t)
		}
	})
	ended = true
	return came
}

// start begins an operation, and returns when it has ended, or it waits.
func start(o *Operation) (over chan struct{}) {
	over = make(chan struct{})
	go func() {
		defer close(over)
		o.Do()
	}()
	if o.Takes > 0 {
		<-time.After(o.Takes)
	}
	synctest.Wait()
	return over
}

func (s site) String() string {
	if s.at == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s (time %d)", s.at, s.times)
}
