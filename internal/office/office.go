// Package office has the call of an engine's Lead, and the leases that bound it.
package office

import (
	"context"

	"github.com/hustings/hustings/memberstate"
)

// Lead serves for one term, until its context ends.
type Lead func(ctx context.Context, term memberstate.Term) error

// Office is the call of a Lead for one term.
type Office struct {
	Term   memberstate.Term
	ctx    context.Context
	cancel context.CancelFunc
}

// Open makes an office. It may be closed even before Serve.
func Open(term memberstate.Term) *Office {
	ctx, cancel := context.WithCancel(context.Background())
	return &Office{Term: term, ctx: ctx, cancel: cancel}
}

// Serve calls lead, unless the office has been closed, and returns its error. early says
// that lead returned before the office was closed. If lead ends its goroutine
// (runtime.Goexit), the office is closed.
func (o *Office) Serve(lead Lead) (early bool, err error) {
	defer o.cancel()
	if err := o.ctx.Err(); err != nil {
		return false, err
	}
	err = lead(o.ctx, o.Term)
	return o.ctx.Err() == nil, err
}

// Close ends the context of Lead, which should then return.
func (o *Office) Close() { o.cancel() }
