// Who leads which group, as the nodes say themselves.

package stress

import (
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
)

// tracker knows the leader of every group at every node. A group is led when all living nodes know the same
// leader, and that leader lives.
type tracker struct {
	nodes int

	mu    sync.Mutex
	knows []uint8 // by group, then by node: the leader that it knows, from 1; 0: none
	led   int     // how many groups are led
	all   chan struct{}
	dead  int       // from 1; 0: no node is dead
	died  time.Time // when it died
	lost  []bool    // by group: its leader has died
	again []time.Duration
}

func newTracker(groups, nodes int) *tracker {
	return &tracker{
		nodes: nodes, knows: make([]uint8, groups*nodes), all: make(chan struct{}),
		lost: make([]bool, groups), again: make([]time.Duration, groups),
	}
}

// changed takes the status of a node in a group.
func (t *tracker) changed(node int, s elector.Status) {
	leader := uint8(0)
	if s.Leader != "" {
		leader = uint8(numberIn(s.Leader, nodePrefix) + 1)
	}
	group := numberIn(s.Group, groupPrefix)
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.leader(group)
	t.knows[group*t.nodes+node] = leader
	after := t.leader(group)
	switch {
	case before == 0 && after != 0:
		t.gains(group)
	case before != 0 && after == 0:
		t.led--
	}
}

// gains notes that a group is led. The tracker's mu is held.
func (t *tracker) gains(group int) {
	if t.lost[group] {
		t.again[group] = time.Since(t.died)
	}
	if t.led++; t.led == len(t.lost) && t.all != nil {
		close(t.all)
		t.all = nil
	}
}

// leader returns the leader of a group, from 1; 0: it is not led. The tracker's mu is held.
func (t *tracker) leader(group int) uint8 {
	leader := uint8(0)
	for node, known := range t.knows[group*t.nodes : (group+1)*t.nodes] {
		switch {
		case node+1 == t.dead:
		case known == 0 || int(known) == t.dead || leader != 0 && known != leader:
			return 0
		default:
			leader = known
		}
	}
	return leader
}

// dies notes that a node dies, now.
func (t *tracker) dies(node int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for group := range t.lost {
		t.lost[group] = int(t.leader(group)) == node+1
	}
	t.dead, t.led, t.all = node+1, 0, nil
	for group := range t.lost {
		if t.leader(group) != 0 {
			t.led++
		}
	}
	t.died = time.Now()
	if t.led < len(t.lost) {
		t.all = make(chan struct{})
	}
}

// allLed returns a channel that is closed once all groups are led.
func (t *tracker) allLed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all != nil {
		return t.all
	}
	led := make(chan struct{})
	close(led)
	return led
}

// count is how many groups are led.
func (t *tracker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.led
}

// leads counts the groups that each node leads.
func (t *tracker) leads() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := make([]int, t.nodes)
	for group := range t.lost {
		if leader := t.leader(group); leader != 0 {
			counts[leader-1]++
		}
	}
	return counts
}

// busiest is the node that leads the most groups.
func (t *tracker) busiest() (node int) {
	counts := t.leads()
	for i, n := range counts {
		if n > counts[node] {
			node = i
		}
	}
	return node
}

// after returns how long it took until each group was led again whose leader had died, if it is; and how many
// there are.
func (t *tracker) after() (took []time.Duration, lost int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for group, is := range t.lost {
		if !is {
			continue
		}
		lost++
		if t.leader(group) != 0 {
			took = append(took, t.again[group])
		}
	}
	return took, lost
}
