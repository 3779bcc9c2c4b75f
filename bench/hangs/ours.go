// Our side: a host with one group, under the smallest engine that replicates a log.

package hangs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/bench/wire"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// names are the ids of our members.
var names = [Members]string{"n0", "n1", "n2"}

// engine is a member of ours. It replicates a ledger that has nothing but the terms of its entries.
type engine struct {
	node    *Node
	others  []*engine
	to      map[*engine]*Line // for the ledger
	elector *elector.Elector
	post    *wire.Post
	leading atomic.Uint64 // the term of Lead; 0: it is not called
	paused  atomic.Bool   // it accepts no writes

	promise elector.Promise // guards the ledger
	ledger  []memberstate.Term
}

// foundOurs starts engines that vouch for themselves, if vouch is positive.
func foundOurs(vouch time.Duration) Founder {
	return func(net *Network, nodes []*Node) (group []Member, err error) {
		engines := make([]*engine, len(nodes))
		for i, n := range nodes {
			engines[i] = &engine{node: n, to: map[*engine]*Line{}}
			engines[i].post = &wire.Post{Lines: map[string]wire.Line{}, Peers: map[string]*wire.Post{}}
		}
		for _, e := range engines {
			for _, other := range engines {
				if other != e {
					name := names[other.node.Index]
					e.others = append(e.others, other)
					e.to[other] = net.Line(e.node, other.node)
					e.post.Lines[name], e.post.Peers[name] = net.Line(e.node, other.node), other.post
				}
			}
			group = append(group, e)
		}
		for _, e := range engines {
			err = errors.Join(err, e.start(vouch))
		}
		return group, err
	}
}

func (e *engine) start(vouch time.Duration) (err error) {
	c := elector.GroupConfig{
		Group: "g", Members: memberstate.Voters(names[:]...), Timing: timing(), Vouch: vouch,
		LedgerEnd: e.ledgerEnd, Lead: e.lead, Pause: e.pause,
	}
	if vouch > 0 {
		c.Healthy = e.healthy
	}
	e.elector, err = elector.New(elector.HostConfig{
		Self: names[e.node.Index], Store: &store{node: e.node}, Transport: e.post, Logger: slog.New(slog.DiscardHandler),
	}, c)
	if err == nil {
		err = e.elector.Start()
	}
	return err
}

// timing is elector.DefaultTiming, in proportion to the detection time.
func timing() elector.Timing {
	t := elector.DefaultTiming()
	scale := func(d time.Duration) time.Duration { return d * Detection / t.Detection() }
	return elector.Timing{
		Heartbeat: Beat, Leak: int(Detection / Beat),
		MinVoteWait: scale(t.MinVoteWait), MaxVoteWait: scale(t.MaxVoteWait), RoundTimeout: scale(t.RoundTimeout), DriftMargin: scale(t.DriftMargin),
	}
}

// healthy says that the engine can do what writes need: save, and apply.
func (e *engine) healthy(context.Context) error {
	e.node.callbacks.pass()
	e.node.Save()
	e.node.Apply()
	return nil
}

func (e *engine) ledgerEnd(term memberstate.Term) memberstate.Position {
	e.node.callbacks.pass()
	return e.promise.End(term, func() (end memberstate.Position) {
		if n := len(e.ledger); n > 0 {
			end = memberstate.Position{Term: e.ledger[n-1], Index: uint64(n)}
		}
		return end
	})
}

func (e *engine) lead(ctx context.Context, term memberstate.Term) error {
	e.leading.Store(uint64(term))
	<-ctx.Done()
	e.leading.Store(0)
	e.node.callbacks.pass()
	return nil
}

func (e *engine) pause(ctx context.Context, _ memberstate.Term) error {
	e.node.callbacks.pass()
	e.paused.Store(true)
	context.AfterFunc(ctx, func() { e.paused.Store(false) })
	return nil
}

// Leads says whether Lead is being called.
func (e *engine) Leads() bool { return e.leading.Load() != 0 }

var errPaused = errors.New("hangs: writes are paused")

// Write appends an entry, has the others append it while this node saves it, and applies it once this
// node and a quorum have saved it, as the peers do.
func (e *engine) Write(ctx context.Context) error {
	e.node.callbacks.pass()
	term := memberstate.Term(e.leading.Load())
	var ledger []memberstate.Term
	err := e.promise.Accept(term, func() error {
		if e.paused.Load() {
			return errPaused
		}
		e.ledger = append(e.ledger, term)
		ledger = e.ledger
		return nil
	})
	if err != nil {
		return err
	}
	saved := make(chan struct{}, Members) // by the others
	for _, other := range e.others {
		e.to[other].Send(func() {
			if other.take(term, e, ledger) == nil {
				other.to[e].Send(func() { saved <- struct{}{} })
			}
		})
	}
	return attempt(ctx, func() error {
		e.node.Save()
		for range Members / 2 {
			select {
			case <-saved:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		e.node.Apply()
		return nil
	})
}

// take appends what a leader sends.
func (e *engine) take(term memberstate.Term, leader *engine, ledger []memberstate.Term) error {
	e.node.callbacks.pass()
	if err := e.elector.Heard(term, names[leader.node.Index]); err != nil {
		return err
	}
	err := e.promise.Accept(term, func() error {
		e.ledger = slices.Clip(ledger) // the leader goes on appending to its own
		return nil
	})
	if err == nil {
		e.node.Save()
	}
	return err
}

// HandOver does nothing, because our watchdog is Vouch.
func (e *engine) HandOver() {}

// Close ends the member without a handover.
func (e *engine) Close() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = e.elector.Stop(ended) // its context has ended
}

// store keeps the hard state on the node's disk.
type store struct {
	memberstate.MemStore
	node *Node
}

// Save saves when the disk does.
func (s *store) Save(batch []memberstate.Record) error {
	s.node.Save()
	return s.MemStore.Save(batch)
}
