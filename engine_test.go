// A small storage engine, to tell the story with: it replicates a ledger of
// terms by the contract that the elector's documentation explains.

package hustings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// engine is one replica. Its ledger is the list of the terms in which its
// entries were written.
type engine struct {
	id      string
	cluster *cluster
	el      *elector.Elector
	keeps   keeping
	// between is called once, between Heard and the append, if it is not nil.
	between func()

	promise elector.Promise
	mu      sync.Mutex
	ledger  []memberstate.Term
	asked   memberstate.Term // the largest term that LedgerEnd was called with
	paused  bool
}

// keeping is how much of its promise an engine keeps.
type keeping int

const (
	keepsAll   keeping = iota
	keepsVotes         // it remembers the terms of votes, and not those of what it accepted
	keepsNothing
)

// LedgerEnd promises to accept no append of a lower term.
func (e *engine) LedgerEnd(term memberstate.Term) memberstate.Position {
	return e.promise.End(term, func() memberstate.Position {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.asked = max(e.asked, term)
		if len(e.ledger) == 0 {
			return memberstate.Position{}
		}
		return memberstate.Position{Term: e.ledger[len(e.ledger)-1], Index: uint64(len(e.ledger))}
	})
}

// append changes the ledger, if an append of this term can still be accepted.
func (e *engine) append(term memberstate.Term, change func() error) error {
	locked := func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.keeps == keepsVotes && term < e.asked {
			return elector.ErrStaleTerm
		}
		return change()
	}
	if e.keeps != keepsAll {
		return locked()
	}
	return e.promise.Accept(term, locked)
}

// accept is what a follower does with the ledger that a leader sends it.
func (e *engine) accept(term memberstate.Term, leader string, ledger []memberstate.Term) error {
	if err := e.el.Heard(term, leader); err != nil {
		return err
	}
	if between := e.between; between != nil {
		e.between = nil
		between()
	}
	return e.append(term, func() error {
		e.ledger = slices.Clone(ledger)
		return nil
	})
}

// write appends an entry as the leader of a term, and says whether a quorum has it.
func (e *engine) write(term memberstate.Term) (committed bool) {
	var ledger []memberstate.Term
	err := e.append(term, func() error {
		if e.paused {
			return errPaused
		}
		e.ledger = append(e.ledger, term)
		ledger = slices.Clone(e.ledger)
		return nil
	})
	if err != nil {
		return false
	}
	have := 1
	for _, other := range e.cluster.engines {
		if other != e && e.cluster.connected(e, other) && other.accept(term, e.id, ledger) == nil {
			have++
		}
	}
	return have > len(e.cluster.engines)/2
}

var errPaused = errors.New("writes are paused")

// pause is the engine's part in a handover.
func (e *engine) pause(ctx context.Context, _ memberstate.Term) error {
	e.setPaused(true)
	context.AfterFunc(ctx, func() { e.setPaused(false) })
	return nil
}

func (e *engine) setPaused(paused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paused = paused
}

// cluster is three engines in one process.
type cluster struct {
	t       *testing.T
	network *rpc.Network
	engines []*engine
	cut     map[*engine]bool
	running sync.WaitGroup
}

// inCluster plays a story with three engines, under virtual time.
func inCluster(t *testing.T, play func(c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, network: rpc.NewNetwork(1), cut: map[*engine]bool{}}
		ctx, cancel := context.WithCancel(t.Context())
		ids := []string{"n0", "n1", "n2"}
		for _, id := range ids {
			e := &engine{id: id, cluster: c}
			el, err := elector.New(elector.HostConfig{Self: id, Store: new(memberstate.MemStore), Transport: c.network.Join(id)}, elector.GroupConfig{
				Group: "orders", Members: memberstate.Voters(ids...), Timing: elector.DefaultTiming(),
				LedgerEnd: e.LedgerEnd, Pause: e.pause,
			})
			require.NoError(t, err)
			e.el = el
			c.engines = append(c.engines, e)
		}
		for _, e := range c.engines {
			c.running.Go(func() { c.assertSound(e, e.el.Run(ctx)) })
		}
		play(c)
		cancel()
		c.running.Wait()
	})
}

// assertSound checks with which error an elector has ended: it notices only what its engine has done.
func (c *cluster) assertSound(e *engine, ended error) {
	var broken *elector.LedgerError
	if e.keeps == keepsAll || !errors.As(ended, &broken) {
		assert.NoError(c.t, ended, e.id)
	}
}

// leader waits for a leader that all connected engines follow.
func (c *cluster) leader() *engine {
	c.t.Helper()
	for range 10000 {
		c.pass(time.Millisecond)
		for _, e := range c.engines {
			if !c.cut[e] && c.allFollow(e) {
				return e
			}
		}
	}
	c.t.Fatal("no leader")
	return nil
}

func (c *cluster) allFollow(leader *engine) bool {
	for _, e := range c.engines {
		if !c.cut[e] && e.el.Status().Leader != leader.id {
			return false
		}
	}
	return leader.el.Status().Role == memberstate.Leader
}

// others are the engines but one.
func (c *cluster) others(but *engine) (others []*engine) {
	for _, e := range c.engines {
		if e != but {
			others = append(others, e)
		}
	}
	return others
}

// cutOff disconnects an engine, or connects it again.
func (c *cluster) cutOff(e *engine, cut bool) {
	c.cut[e] = cut
	for _, other := range c.others(e) {
		c.network.SetLink(e.id, other.id, rpc.Link{Cut: cut})
		c.network.SetLink(other.id, e.id, rpc.Link{Cut: cut})
	}
}

func (c *cluster) connected(a, b *engine) bool { return !c.cut[a] && !c.cut[b] }

// pass lets virtual time pass.
func (c *cluster) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (e *engine) String() string { return fmt.Sprintf("%s %v", e.id, e.ledger) }
