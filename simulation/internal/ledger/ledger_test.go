package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// ledgerOf has entries up to the given ones, each of another term.
func ledgerOf(ends ...memberstate.Position) *Ledger {
	var l *Ledger
	for _, end := range ends {
		l = &Ledger{end.Term, end.Index, l}
	}
	return l
}

func TestTheFirstMissingEntryIsFound(t *testing.T) {
	at := func(term memberstate.Term, index uint64) memberstate.Position {
		return memberstate.Position{Term: term, Index: index}
	}
	committed := ledgerOf(at(1, 3), at(4, 5), at(5, 9))
	for _, c := range []struct {
		lacks memberstate.Position
		l     *Ledger
	}{
		{at(5, 8), ledgerOf(at(1, 3), at(4, 5), at(5, 7))},
		{at(5, 6), ledgerOf(at(1, 3), at(4, 5), at(6, 20))},
		{at(4, 5), ledgerOf(at(1, 3), at(4, 4))},
		{at(4, 4), ledgerOf(at(1, 3), at(3, 7))},
		{at(1, 3), ledgerOf(at(1, 2))},
		{at(1, 1), new(Ledger)},
		{at(5, 6), ledgerOf(at(1, 3), at(4, 6), at(5, 12))}, // the entries of term 5 begin elsewhere
	} {
		assert.Equal(t, c.lacks, c.l.Lacks(committed))
		assert.False(t, c.l.Has(c.lacks))
		assert.True(t, committed.Has(c.lacks))
	}
	assert.Zero(t, ledgerOf(at(1, 3), at(4, 5), at(5, 9), at(6, 11)).Lacks(committed))
}
