// A watchdog, which an application can write around a library that has none.

package hangs

import (
	"context"
	"time"
)

// watch makes a leader on which no write has succeeded for a detection time hand over. If it still
// leads and none has succeeded after another one, watch ends its process.
func (t *trial) watch(ctx context.Context, i int) {
	var leads time.Time // since when, if it does
	for ordered := false; ctx.Err() == nil; pause(ctx, every) {
		t.nodes[i].process.pass()
		if !t.members[i].Leads() {
			leads, ordered = time.Time{}, false
			continue
		}
		if leads.IsZero() {
			leads = time.Now()
		}
		well := t.last(i)
		if well.Before(leads) {
			well = leads
		}
		switch silent := time.Since(well); {
		case silent <= Detection:
			ordered = false
		case silent > 2*Detection:
			t.nodes[i].gone.Store(true)
			return
		case !ordered:
			ordered = true
			t.members[i].HandOver()
		}
	}
}
