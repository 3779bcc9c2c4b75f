// Promise: which appends it refuses, and that its two functions exclude each other.

package elector_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

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
	assert.Equal(t, end, p.End(1, func() memberstate.Position { return end }), "a smaller term takes nothing back")
	assert.ErrorIs(t, accept(4), elector.ErrStaleTerm)
	assert.NoError(t, accept(5))
	assert.Equal(t, 3, written, "a refused append was written")

	assert.ErrorIs(t, p.Accept(6, func() error { return full }), full)
	assert.ErrorIs(t, accept(5), elector.ErrStaleTerm, "it may have been written in part")
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
