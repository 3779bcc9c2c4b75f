// One batch of saves is under way at a time. Meanwhile the next one gathers, from all groups that
// wait for the disk.

package protocol

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
)

type saves struct {
	waiting []*Group      // for the next batch
	saving  []*Group      // in the one under way; nil: there is none
	began   time.Duration // when it did
}

// save begins the next batch, unless one is under way.
func (n *Node) save() {
	s := &n.saves
	switch {
	case s.saving != nil:
		return
	case n.marking == markWanted:
		s.saving, s.began = []*Group{}, max(n.now, 1)
		n.mark()
		return
	case len(s.waiting) == 0:
		return
	}
	s.saving, s.waiting, s.began = s.waiting, nil, max(n.now, 1)
	batch := make([]memberstate.Record, len(s.saving))
	for i, g := range s.saving {
		batch[i] = g.Record()
	}
	n.edge.Save(batch)
}

// Saved tells the node the result of Edge.Save. A group whose state could not be saved ends.
func (n *Node) Saved(err error) {
	groups := n.saves.saving
	n.saves.saving = nil
	for _, g := range groups {
		if err != nil {
			n.end(g, fmt.Errorf("elector: group %q: saving term %d: %w", g.name, g.Term, err))
		}
		n.resume(g, func(p *pending) Need { return g.Saved(g.Rules, n.now, &p.Step, &n.fx) })
	}
	if n.marking == markSaving {
		n.storeMarked(err)
	}
}
