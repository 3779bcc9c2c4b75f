// How often a keeper reads and renews while nothing goes wrong.

package leases

import (
	"time"

	"github.com/hustings/hustings/lease/protocol"
)

// keepsTime checks what a candidate has sent in five TTLs in which nothing struck.
func (w *world) keepsTime(n *candidate, before *[len(candidate{}.sent)]uint64) {
	if !n.alive || n.leaving || w.check.over {
		return
	}
	t, way := n.options.timing, time.Duration(w.leases)*w.way()
	for of := range n.seats {
		switch s := &n.seats[of]; {
		case n.valid(of):
			w.holds(Cadence, n.now()-s.asked <= t.Renew+way, "%s last renewed %s %v ago", n.id, names[of], n.now()-s.asked)
		default:
			w.holds(Cadence, n.now()-s.looked <= t.Poll+2*way, "%s last looked at %s %v ago", n.id, names[of], n.now()-s.looked)
		}
	}
	calls := uint64((w.leases + n.options.limits.Batch - 1) / n.options.limits.Batch)
	atMost := func(what protocol.Kind, every time.Duration) {
		sent, most := n.sent[what]-before[what], (uint64(5*timing.TTL/every)+2)*calls
		w.holds(Cadence, sent <= most, "%s %s %d times in five TTLs, not %d", n.id, does[what], sent, most)
	}
	atMost(protocol.Read, t.Poll-t.Poll/2)
	atMost(protocol.Renew, t.Renew-t.Renew/8)
}
