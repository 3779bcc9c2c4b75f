// What a member shows: its newest view, which any goroutine reads without waiting, and can wait for the changes of.
//
// It is like a level.Level. But there may be very many groups that nobody watches, so the channel that watchers wait for
// is among the extras.

package elector

import (
	"context"

	"github.com/hustings/hustings/elector/protocol"
)

// numberedView is the member's latest view, with the number of the change. It is never changed.
type numberedView struct {
	protocol.View
	revision uint64
}

// begun says whether the loop has begun with the group, without the lock that guards how far the group has come; see
// life in package protocol.
func (v *numberedView) begun() bool { return v.revision > 0 }

// show replaces the view. Only the loop does that.
func (e *Elector) show(v protocol.View) {
	e.view.Store(&numberedView{v, e.view.Load().revision + 1})
	if x := e.extras.Load(); x != nil {
		if replaced := x.replaced.Swap(nil); replaced != nil {
			close(*replaced)
		}
	}
}

// awaitOther returns true when this view is no longer the latest, and false if the context ends before. It looks for
// a newer view after it has made the channel, and show looks for a channel after it has stored the view. So at least
// one of them sees the other. The channel may be that of the change which has brought this very view, not closed yet;
// then there is another one to wait for.
func (e *Elector) awaitOther(ctx context.Context, v *numberedView) bool {
	for {
		replaced := e.awaited()
		if e.view.Load() != v {
			return true
		}
		select {
		case <-replaced:
		case <-ctx.Done():
			return false
		}
	}
}

// awaited is the channel that show closes next.
func (e *Elector) awaited() <-chan struct{} {
	x := e.ensureExtras()
	for {
		if replaced := x.replaced.Load(); replaced != nil {
			return *replaced
		}
		made := make(chan struct{})
		x.replaced.CompareAndSwap(nil, &made)
	}
}
