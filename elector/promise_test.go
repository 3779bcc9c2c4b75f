// Promise: which appends it refuses, and that its two functions exclude each other.

package elector_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

func TestAnAppendIsRefusedBelowTheTermsOfVotesAndAppends(t *testing.T) {
	full := errors.New("full")
	end := memberstate.Position{Term: 3, Index: 7}
	var p elector.Promise
	written := 0
	accept := func(term memberstate.Term) error {
		return p.Accept(term, func() error { written++; return nil })
	}
	assert.NoError(t, accept(3))
	assert.NoError(t, accept(3), "the same term goes on")
	assert.ErrorIs(t, accept(2), elector.ErrStaleTerm, "a later append was accepted")

	assert.Equal(t, end, p.End(5, func() memberstate.Position { return end }))
	assert.ErrorIs(t, accept(4), elector.ErrStaleTerm, "a vote was at stake in term 5")
	assert.NoError(t, accept(5))
	assert.Equal(t, 3, written, "a refused append was written")

	assert.ErrorIs(t, p.Accept(6, func() error { return full }), full)
	assert.ErrorIs(t, accept(5), elector.ErrStaleTerm, "it may have been written in part")

	p.End(9, func() memberstate.Position { return end })
	assert.ErrorIs(t, accept(8), elector.ErrStaleTerm)
	p.End(7, func() memberstate.Position { return end })
	assert.NoError(t, accept(7), "only the last promise binds")
	p.End(2, func() memberstate.Position { return end })
	assert.ErrorIs(t, accept(6), elector.ErrStaleTerm, "an append of term 7 was accepted, and no call of LedgerEnd takes that back")
}

// A member that stands calls LedgerEnd with its next term, and may be stopped before it has saved that
// term. Nobody has heard of that promise. If it bound the ledger of the group's next member,
// that would refuse all appends until a larger term came, which may be never.
func TestAPromiseForATermThatWasNotSavedDoesNotBindTheNextMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p elector.Promise
		asked, held := make(chan memberstate.Term, 10), make(chan struct{})
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		c := elector.GroupOf("g", "n0", "n1", "n2")
		c.NoPreVote = true
		c.LedgerEnd = func(term memberstate.Term) memberstate.Position {
			return p.End(term, func() memberstate.Position {
				asked <- term
				if term > 0 {
					<-held
				}
				return memberstate.Position{}
			})
		}
		el := elector.MustJoin(t, host, c)
		require.NoError(t, el.Start())
		for <-asked == 0 {
		}
		stopped := order(func(context.Context) error { return el.Stop(endedContext()) })
		synctest.Wait()
		close(held)
		require.NoError(t, stopped.answered(t))

		again := elector.MustJoin(t, host, c)
		require.NoError(t, again.Start())
		term := again.Status().Term
		assert.Zero(t, term, "it was not saved")
		assert.NoError(t, p.Accept(term, func() error { return nil }))
		require.NoError(t, host.Close(t.Context()))
	})
}

// An engine that ends the goroutine of its LedgerEnd stops that member. The group's next one on this ledger goes on.
func TestAnEndThatEndsItsGoroutineKeepsNobodyWaiting(t *testing.T) {
	var p elector.Promise
	exited, accepted := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(exited)
		p.End(3, func() memberstate.Position {
			runtime.Goexit()
			return memberstate.Position{}
		})
	}()
	<-exited
	go func() { accepted <- p.Accept(3, func() error { return nil }) }()
	assert.Eventually(t, func() bool { return len(accepted) > 0 }, 10*time.Second, time.Millisecond)
}

// End and Accept are atomic: neither runs while another does.
func TestEndAndAcceptExcludeEachOther(t *testing.T) {
	steps := map[string]func(p *elector.Promise, do func()){
		"the end": func(p *elector.Promise, do func()) {
			p.End(3, func() memberstate.Position { do(); return memberstate.Position{} })
		},
		"an append": func(p *elector.Promise, do func()) {
			assert.NoError(t, p.Accept(3, func() error { do(); return nil }))
		},
	}
	for name, first := range steps {
		for then, second := range steps {
			t.Run(name+", then "+then, func(t *testing.T) {
				var p elector.Promise
				var over, called atomic.Bool
				done := make(chan struct{})
				first(&p, func() {
					go func() {
						defer close(done)
						called.Store(true)
						second(&p, func() { assert.True(t, over.Load(), "the two overlap") })
					}()
					for !called.Load() {
						runtime.Gosched()
					}
					for range 1000 { // it has time to
						runtime.Gosched()
					}
					over.Store(true)
				})
				<-done
			})
		}
	}
}
