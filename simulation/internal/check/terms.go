// What the invariants remember of the newest terms: who led each, served in it, and was
// voted for.

package check

import "github.com/hustings/hustings/memberstate"

// terms is a window on the newest terms. A run may have any number of them, and what is
// long past is not asked for again: messages do not live as long.
type terms struct {
	newest  memberstate.Term
	records [termWindow]termRecord
}

const termWindow = 1024

// termRecord is one term's.
type termRecord struct {
	term   memberstate.Term
	led    tenure
	lost   bool // by whom it was led
	served bool
	server int
	votes  [MaxNodes]memberstate.Seat // that are durable, by node
}

// of is the record of a term; nil if the term is too long past.
func (t *terms) of(term memberstate.Term) *termRecord {
	if term+termWindow <= t.newest {
		return nil
	}
	t.newest = max(t.newest, term)
	r := &t.records[term%termWindow]
	if r.term != term {
		*r = termRecord{term: term}
	}
	return r
}
