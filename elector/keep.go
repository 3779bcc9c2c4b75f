// A node that stays drained over restarts, for repairs in which its machine is started several times. Its store
// remembers that, and a new process asks the store. It is an operator's word, so that of an engine which is ready does
// not end it.

package elector

import (
	"fmt"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// KeepDrained has processes of this node that are started later begin drained, or serve again. It changes nothing for this
// process: see Drain and Undrain. A process that begins with HostConfig.Hold is drained once its engine calls Serve.
//
// It is durable when KeepDrained returns nil. The error is ErrStopped if no group was ever started, because the host does not use
// its store before. After another error nobody knows what the store remembers, and further calls
// return the error, too: a store that has failed is not asked again. It is ErrStoreSilent if the store does not answer; then it may still
// remember it, and Progress says so. Older versions of this package forget it when they count a
// start of the process.
func (h *Host) KeepDrained(on bool) error {
	_, err := h.keep(on)
	return err
}

// keep does what KeepDrained does, and says whether the engine has still to say that it is ready.
func (h *Host) keep(on bool) (held bool, err error) {
	if err := h.claim(); err != nil {
		return false, err
	}
	done, began := make(chan struct{}), h.elapsed()
	var failed error
	go func() {
		defer close(done)
		failed = errExited
		failed = h.keepDrained(on)
	}()
	if silent := h.await(done, nil, began); silent != nil {
		go func() {
			defer h.release()
			<-done
		}()
		return false, silent
	}
	defer h.release()
	return h.held, failed
}

// keepDrained has the store remember it. Entering is held.
func (h *Host) keepDrained(on bool) error {
	if !h.asked {
		return h.runsNoGroup()
	}
	if h.doubt == nil {
		h.doubt = memberstate.KeepDrained(&h.store, on)
	}
	if h.doubt != nil {
		return fmt.Errorf("elector: saving whether node %q stays drained over restarts: %w", h.config.Self, h.doubt)
	}
	h.progress.Update(func(p Progress) (Progress, bool) { p.Kept = on; return p, true })
	return nil
}

// Undrain takes back what operators have ordered by Drain and KeepDrained: the node takes its share of leading. If it began with
// HostConfig.Hold, and its engine has not called Serve yet, it will do so then, because only the engine knows whether it can
// lead. If the node stays drained because the store fails, Undrain returns the error of KeepDrained.
func (h *Host) Undrain() error {
	if held, err := h.keep(false); held || err != nil {
		return err
	}
	return h.order(protocol.AskServe)
}

// Serve has this node take its share of leading: after a Drain, or after a start with HostConfig.Hold. Nothing is
// fetched back at once. The first call after a start with Hold says only that the engine is ready: if the node is kept drained
// by then, it drains, until the next call or Undrain. The error is ErrStoreSilent if that is not known because the store does not answer.
func (h *Host) Serve() error {
	if err := h.claim(); err != nil { // whether it is kept drained must not change meanwhile
		return err
	}
	defer h.release()
	kind := protocol.AskServe
	if h.held && h.progress.Load().Kept {
		kind = protocol.AskDrain
	}
	err := h.order(kind)
	if err == nil {
		h.held = false
	}
	return err
}

// beginAsKept has a new process begin as the store says. Entering is held, and no loop runs.
func (h *Host) beginAsKept() error {
	if h.asked {
		return nil
	}
	kept, err := memberstate.IsKeptDrained(&h.store)
	if err != nil {
		return fmt.Errorf("elector: reading whether node %q stays drained over restarts: %w", h.config.Self, err)
	}
	if h.asked = true; !kept {
		return nil
	}
	h.progress.Update(func(p Progress) (Progress, bool) { p.Kept = true; return p, true })
	if !h.held {
		h.node.Drain(0)
	}
	return nil
}
