// A node that is told to stop drains first: it hands over while service goes on, and says to the others that it is about to
// leave. It waits only while somebody may take over, and never for a fixed time.

package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

// DefaultDrainWait is how long a node that is told to stop tries to hand over, if nothing else is said.
const DefaultDrainWait = 30 * time.Second

// untilOutOfService returns a context that ends after ctx, and after the node has been drained and its program, which has a
// detection time for that, has ended. A handover asks the program to end, too, but perhaps no voter can take over.
func (n *node) untilOutOfService(ctx context.Context) (context.Context, context.CancelFunc) {
	leads, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		n.service.stop(&n.member, *n.config.DrainWait+n.detection+2*patience)
		n.drain()
		if n.program != nil {
			n.program.end(n.detection)
		}
	})
	return leads, func() { stop(); cancel() }
}

// drain has the node lead nothing, or gives up: when the time to wait is over, when it is told to hurry, and when that
// is in vain.
func (n *node) drain() {
	wait := *n.config.DrainWait
	if wait == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	n.log.Info("draining", "for_at_most", wait)
	watching.Go(func() {
		select {
		case <-n.config.Hurry:
			cancel()
		case <-ctx.Done():
		}
	})
	watching.Go(func() { n.endInVain(ctx, cancel) })
	_ = n.host.Protect(false) // it gives up what it leads anyway
	err := n.host.DrainPatiently(ctx)
	if stuck, is := errors.AsType[*elector.StuckError](err); is && stuck.Progress.Led > 0 {
		stuck.Cause = nil // of course it has not waited any longer
		n.log.Warn("stopping although this node leads, because nobody has taken over", "error", stuck)
	}
}

// endInVain ends a drain whose wait is of no use: the program does not end, and is killed next; or nobody is there to take over
// for longer than a detection time, after which a group is tried again. At once would be too soon: a node that has
// just been elected has not heard the others yet.
func (n *node) endInVain(ctx context.Context, end func()) {
	patience := 3 * n.detection / 2
	check := time.AfterFunc(patience, func() {
		if now := n.host.Progress(); now.Deserted() {
			end()
		}
	})
	check.Stop() // until nobody is there
	defer check.Stop()
	var since time.Time // when nobody was there; zero: somebody is
	for p := range n.host.WatchProgress(ctx) {
		switch {
		case p.Led > 0 && p.Stuck[protocol.StuckNotPaused] == p.Led:
			end()
		case p.Deserted() && since.IsZero():
			since = time.Now()
			check.Reset(patience)
		case p.Deserted() && time.Since(since) >= patience:
			end()
		case p.AllStuck() > 0 && !p.Deserted():
			since = time.Time{}
		}
	}
}

// drained says whether the node drains and leads nothing.
func (m *member) drained() bool {
	return m.host != nil && m.host.Progress().Standing.State == rpc.Drained
}
