// What is known of each group: the rows of all nodes, merged by their terms.

package route

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
)

// table has an entry for each group that takes part at one of the nodes. A group that no node has any more is forgotten, but not
// while a node that had it is away: a node that is started again ends its groups first, and has them again when it is back.
type table struct {
	entries map[string]*entry
	away    uint64 // has a bit for each node that was lost and has not yet said what it has
}

// entry is what is known of a group.
type entry struct {
	leader Leader           // of the newest term in which one is known
	newest memberstate.Term // that was heard of; it may have no leader yet
	// doubtedUntil is when the leader is named again, counted from the start of the Router.
	doubtedUntil time.Duration
	// at has a bit for each node at which the group takes part, fresh for each that has said so since it was connected, and had
	// for each that has ever said so, and has not come back without the group since.
	at, fresh, had uint64
}

// leader returns the leader of a group, unless it is in doubt now.
func (t *table) leader(group string, now time.Duration) (Leader, bool) {
	e := t.entries[group]
	if e == nil || e.leader.ID == "" || now < e.doubtedUntil {
		return Leader{}, false
	}
	return e.leader, true
}

// doubt is for how much longer the leader of a group is in doubt; zero: there is none.
func (t *table) doubt(group string, now time.Duration) time.Duration {
	if e := t.entries[group]; e != nil && e.leader.ID != "" {
		return max(0, e.doubtedUntil-now)
	}
	return 0
}

// begin notes that a node is connected anew, so that its next rows are all that it has.
func (t *table) begin(node int) {
	for _, e := range t.entries {
		e.fresh &^= 1 << node
	}
}

// lose notes that the connection to a node is lost.
func (t *table) lose(node int) {
	t.away |= 1 << node
}

// complete forgets what a node has no more, once all its rows have come. Such groups have ended while it was away.
func (t *table) complete(node int) {
	t.away &^= 1 << node
	for group, e := range t.entries {
		if e.fresh&(1<<node) == 0 {
			e.at &^= 1 << node
			e.had &^= 1 << node
		}
		t.forget(group, e)
	}
}

// leave notes that a group takes part at a node no more.
func (t *table) leave(node int, group string) {
	if e := t.entries[group]; e != nil {
		e.at &^= 1 << node
		t.forget(group, e)
	}
}

// forget forgets a group that no node has, or will have when it is back.
func (t *table) forget(group string, e *entry) {
	if e.at|e.had&t.away == 0 {
		delete(t.entries, group)
	}
}

// take takes in a row of a node. Doubt is how long a leader is in doubt when a newer term has none.
func (t *table) take(node int, row *operator.Row, now, doubt time.Duration) {
	if row.Ended {
		t.leave(node, row.Group)
		return
	}
	e := t.entries[row.Group]
	if e == nil {
		e = new(entry)
		t.entries[row.Group] = e
	}
	e.at |= 1 << node
	e.fresh |= 1 << node
	e.had |= 1 << node
	e.merge(row, now, doubt)
}

// merge keeps the newer one of two rows. Of one term there is one leader at most, but not every node knows it, or its address.
//
// A newer term without a leader casts doubt on the older leader, which has probably lost its office. It does so once, and for a
// short time, because a node that is cut off from the others may begin term after term, while the leader serves.
func (e *entry) merge(row *operator.Row, now, doubt time.Duration) {
	if row.Leader == "" {
		if row.Term > e.newest && e.newest == e.leader.Term {
			e.doubtedUntil = now + doubt
		}
		e.newest = max(e.newest, row.Term)
		return
	}
	switch {
	case row.Term > e.leader.Term:
		e.leader = Leader{ID: row.Leader, Address: row.Address, Term: row.Term}
		if row.Term >= e.newest {
			e.doubtedUntil = 0
		}
	case row.Term == e.leader.Term && e.leader.Address == "":
		e.leader.Address = row.Address
	}
	e.newest = max(e.newest, row.Term)
}
