// What an engine may accept that keeps its promise.

package elector_test

import (
	"errors"
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
	assert.Equal(t, end, p.End(1, func() memberstate.Position { return end }), "an older question takes nothing back")
	assert.ErrorIs(t, accept(4), elector.ErrStaleTerm)
	assert.NoError(t, accept(5))
	assert.Equal(t, 3, written, "what is refused is not written")

	assert.ErrorIs(t, p.Accept(6, func() error { return full }), full)
	assert.ErrorIs(t, accept(5), elector.ErrStaleTerm, "it may have been written in part")
}
