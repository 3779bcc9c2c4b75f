// Groups that have ended, and those that only seem to, because their nodes are being started again.

package route

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/operator"
)

// A group is forgotten when it has ended at every node that had it, and then it may begin anew, in any term.
func TestAGroupThatHasEndedIsForgotten(t *testing.T) {
	withRouter(t, 3, func(r *routed) {
		t := r.t
		ended := operator.Row{Group: "g", Term: 9, Ended: true}
		r.says(0, row(5, "n1"))
		r.says(1, row(5, "n1"))
		r.says(0, ended)
		r.assertLeads(5, "n1", "it goes on at the other")
		r.says(2, ended)
		r.assertLeads(5, "n1", "it was not there")
		r.says(1, ended)
		r.assertNone()
		assert.Empty(t, r.table.entries)
		r.says(1, ended)
		assert.Empty(t, r.table.entries)
		r.says(2, row(1, "n2"))
		r.assertLeads(1, "n2")
		r.says(0, row(1, "n2"))
		r.says(0, ended)
		r.assertLeads(1, "n2", "it was there before")
	})
}

// What a node has no more when it is back, another may still have.
func TestAGroupThatEndsWhileItsNodeIsAwayIsKeptForOthers(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		t := r.t
		r.says(0, row(5, "n1"))
		r.says(1, row(5, "n1"))
		r.loses(0)
		r.says(0)
		r.assertLeads(5, "n1")
		r.loses(1)
		r.says(1)
		r.assertNone()
		assert.Empty(t, r.table.entries)
	})
}

// A node that is started again ends its groups before it goes. When the nodes are started again one after the other, each may say so
// before the one before it has been connected anew. Clients would have to wait for that, though the leader is known.
func TestAGroupIsKeptWhileANodeThatHadItIsAway(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		ended := operator.Row{Group: "g", Term: 5, Ended: true}
		r.says(0, row(5, "n2"))
		r.says(1, row(5, "n2"))
		r.says(0, ended)
		r.nodes[0] <- said{err: errors.New("it was stopped")}
		synctest.Wait()
		r.says(1, ended)
		r.assertLeads(5, "n2", "node 0 may have it again")
		<-time.After(shortestWait) // virtual time
		r.begins(0, operator.Row{Group: "h", Term: 1})
		r.assertLeads(5, "n2", "these are not all of its groups")
		r.says(0, row(5, ""))
		r.assertLeads(5, "n2")
		r.says(0, ended)
		r.assertNone("no node has it, and none is away")
	})
}

// endsAtTwo has two nodes end the group, one after the other. The first one is away by then, and connected anew.
func (r *routed) endsAtTwo() {
	r.t.Helper()
	ended := operator.Row{Group: "g", Term: 5, Ended: true}
	r.says(0, row(5, "n2"))
	r.says(1, row(5, "n2"))
	r.says(0, ended)
	r.loses(0)
	r.says(1, ended)
}

// Restarts of two nodes may overlap. The one that is back first says nothing of what the other will have.
func TestAGroupIsKeptForTheSecondOfTwoNodesThatAreAway(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.endsAtTwo()
		r.loses(1)
		r.says(0)
		r.assertLeads(5, "n2", "node 1 may have it again")
		r.says(1)
		r.assertNone("both are back")
	})
}

// Such a group has ended indeed if the node comes back without it.
func TestAGroupIsForgottenWhenTheNodeThatHadItIsBackWithoutIt(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.endsAtTwo()
		r.assertLeads(5, "n2")
		r.says(0)
		r.assertNone()
		assert.Empty(r.t, r.table.entries)
	})
}

// It may also have it at first, and end it before it has named all that it has.
func TestAGroupThatEndsBeforeTheTableOfItsNodeIsCompleteIsForgotten(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		r.says(0, row(5, "n2"))
		r.loses(0)
		r.begins(0, row(5, "n2"), operator.Row{Group: "g", Term: 5, Ended: true})
		r.says(0)
		r.assertNone()
		assert.Empty(r.t, r.table.entries)
	})
}

// And it is not kept for that node when it is away another time.
func TestAGroupIsNotKeptForANodeThatCameBackWithoutIt(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.says(0, row(5, "n2"))
		r.says(1, row(5, "n2"))
		r.loses(0)
		r.says(0)
		r.loses(0)
		r.assertLeads(5, "n2", "node 1 has it")
		r.says(1, operator.Row{Group: "g", Term: 5, Ended: true})
		r.assertNone()
	})
}

// A node that never had the group has no say, however long it is away.
func TestAGroupIsNotKeptForANodeThatNeverHadIt(t *testing.T) {
	withRouter(t, 3, func(r *routed) {
		r.says(0)
		r.nodes[0] <- said{err: errors.New("it was stopped")}
		synctest.Wait()
		r.says(1, row(5, "n2"))
		r.says(1, operator.Row{Group: "g", Term: 5, Ended: true})
		r.assertNone("node 0 is away, and node 2 has never been connected")
		assert.Empty(r.t, r.table.entries)
	})
}
