// A violation: which invariant did not hold, when and where, and which entry was lost if one was.

package invariant

import (
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Violation is an invariant that did not hold in a run.
type Violation struct {
	Invariant Invariant
	// At is when, in the simulator's true time; Node is the index of the node.
	At   time.Duration
	Node int
	// Group is the index of the group in which it did not hold.
	Group int
	What  string
	// Lost is the committed entry that a node lacks; nil if no entry was lost.
	Lost *LostEntry
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%v violated at %v by n%d: %s", v.Invariant, v.At, v.Node, v.What)
}

// LostEntry is an entry that was committed and that a node lacks which should have it.
type LostEntry struct {
	Entry memberstate.Position
	// Committed is the term whose leader committed it.
	Committed memberstate.Term
	// Acknowledged are the indexes of the voters that have acknowledged it, nil if that is too
	// long ago. Missing are those that do not have it now, and the node that has lost it.
	Acknowledged, Missing []int
}

func (l *LostEntry) String() string {
	by := "a majority"
	if l.Acknowledged != nil {
		by = list(l.Acknowledged)
	}
	verb := "are"
	if len(l.Missing) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("entry %v was committed in term %d and acknowledged by %s, and %s %s without it", l.Entry, l.Committed, by, list(l.Missing), verb)
}

// list is a list of nodes as one would say it.
func list(nodes []int) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = fmt.Sprintf("n%d", n)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}
