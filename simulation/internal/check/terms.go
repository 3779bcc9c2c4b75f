// What the checks remember of the newest terms: the leader of each, the engine that served in it, and
// the votes.

package check

import "github.com/hustings/hustings/memberstate"

// terms is a window on the newest terms. A run may have any number of terms, and none is needed after
// a thousand later ones, because no message travels for so long.
type terms struct {
	newest  memberstate.Term
	records [termWindow]termRecord
}

const termWindow = 1024

// termRecord is the record of one term.
type termRecord struct {
	term   memberstate.Term
	led    tenure
	ledAt  int64 // when it began, in true time
	lost   bool  // its leader leads it no more
	served bool
	server int
	votes  [MaxNodes]memberstate.Seat // the durable ones, by node
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
