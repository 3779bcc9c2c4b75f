// The host: one node and its groups, over one transport and one store. One goroutine, the
// loop, owns the machines of all groups, so an idle group needs no goroutine and no timer of
// its own.

package elector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/level"
	"github.com/hustings/hustings/internal/logging"
	"github.com/hustings/hustings/internal/office"
)

// Host runs the groups of one node.
type Host struct {
	config  HostConfig
	log     *logging.Aside // the loop waits for no logger
	metrics Metrics
	clock   func() time.Time // time.Now, except in tests
	epoch   time.Time        // when the host was made
	drops   [protocol.DropReasons]atomic.Uint64
	wake    chan struct{}
	store   store
	ledgers ledgers

	watchers    watchers
	progress    level.Level[Progress]
	incarnation atomic.Uint64 // 0: no group has been started yet

	entering  chan struct{} // full while the loop is being started, or the node's record changes: both wait for the disk
	exchanges bool          // the node exchanges beats; guarded by entering
	asked     bool          // the store has said whether the node stays drained; guarded by entering
	held      bool          // the engine has still to say that it is ready; guarded by entering
	doubt     error         // why the node's record is in doubt; guarded by entering

	mu          sync.Mutex
	intake      protocol.Intake
	electorates protocol.Electorates
	stopped     chan struct{} // closed when the loop of the last start has ended

	// The fields from here on belong to the loop.
	node   *protocol.Node
	now    time.Duration
	batch  protocol.Taken
	shared map[uint32]*office.Shared // leases, by their numbers
}

// NewHost makes a host without groups. It need not be closed before its first group
// is started, or after all groups have ended.
func NewHost(config HostConfig) (*Host, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	var metrics Metrics
	if config.Metrics != nil {
		metrics = *config.Metrics
	}
	h := &Host{
		config: config, metrics: metrics, log: logging.NewAside(logging.Or(config.Logger)), clock: time.Now, epoch: time.Now(), wake: make(chan struct{}, 1), entering: make(chan struct{}, 1),
		shared: make(map[uint32]*office.Shared),
	}
	h.store.Store, h.store.elapsed = config.Store, h.elapsed
	h.node = protocol.NewNode(config.Self, (*edge)(h))
	if h.held = config.Hold; h.held {
		h.node.Hold()
	}
	h.node.SetCapacity(config.Capacity)
	h.node.Balance(config.Balance)
	h.progress.Set(h.node.Progress())
	return h, nil
}

// Join adds a group to the host. It takes part once its Run or Start is called.
func (h *Host) Join(config GroupConfig) (*Elector, error) {
	own, err := config.electorate(h.config.Self)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	own.Owner = h
	shared := h.electorates.Share(own)
	e := &Elector{ledgerEnd: config.LedgerEnd}
	e.group = protocol.NewGroup(shared, config.Group, (*engine)(e))
	e.group.Weigh(config.Weight)
	if err := h.intake.Join(&e.group); err != nil {
		h.electorates.Leave(shared)
		return nil, err
	}
	e.view.Store(new(numberedView))
	if config.Lead != nil || config.Pause != nil || config.Handlers != nil || config.Leases || config.Vouch > 0 {
		x := e.ensureExtras()
		x.lead, x.pause, x.healthy, x.handlers = config.Lead, config.Pause, config.Healthy, config.Handlers
	}
	return e, nil
}

// Close stops all groups, as their Stop does, and returns when they have ended. A node that leads very many hands them
// over a few at a time, as by Drain, and the others resign after that. If the context ends first, those that are left
// stop without a handover; if the store does not answer then, see Stop.
func (h *Host) Close(ctx context.Context) error {
	drains := h.handOver(ctx)
	all := h.Electors()
	for _, e := range all {
		e.beginStop()
	}
	defer context.AfterFunc(ctx, func() {
		for _, e := range all {
			h.request(e.newRequest(protocol.AskEnd))
		}
	})()
	var problems []error
	began, left := time.Duration(0), 0
	var silent error
	for _, e := range all {
		if err := e.stop(ctx, &began); errors.Is(err, ErrStoreSilent) {
			silent, left = errors.Unwrap(err), left+1
		} else {
			problems = append(problems, err)
		}
	}
	if silent != nil {
		problems = append(problems, fmt.Errorf("elector: %d of %d groups have not ended: %w", left, len(all), silent))
		return errors.Join(problems...)
	}
	h.awaitLoop() // needed if all groups had ended by themselves
	return errors.Join(append(problems, h.standAsBefore(drains))...)
}

// Dropped counts the inputs of all groups that were ignored for this reason.
func (h *Host) Dropped(why Drop) uint64 {
	if int(why) >= len(h.drops) {
		return 0
	}
	return h.drops[why].Load()
}

func (h *Host) drop(why Drop, n int) {
	h.drops[why].Add(uint64(n))
	if f := h.metrics.Dropped; f != nil {
		f(why, n)
	}
}

// elapsed is the time since the host was made. It is monotonic, because both times have a
// monotonic reading, and package time then uses no other.
func (h *Host) elapsed() time.Duration { return h.clock().Sub(h.epoch) }

// Electors lists the groups that have joined and have not ended, sorted by name.
func (h *Host) Electors() (all []*Elector) {
	for _, g := range h.groups() {
		all = append(all, electorOf(g))
	}
	return all
}

// groups are those that have joined and have not ended, sorted by name.
func (h *Host) groups() []*protocol.Group {
	h.mu.Lock()
	all := h.intake.Groups()
	h.mu.Unlock()
	protocol.SortByName(all)
	return all
}

// Elector returns the elector of a group, or nil if the host has no such group.
func (h *Host) Elector(group string) *Elector {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.intake.Group(group); g != nil {
		return electorOf(g)
	}
	return nil
}

// named are the groups of these names that the host has.
func (h *Host) named(names []string) (all []*protocol.Group) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if g := h.intake.Group(name); g != nil {
			all = append(all, g)
		}
	}
	return all
}

// enter lets restored groups take part, and starts the loop if it does not run. The loop calls
// begun when all of them do.
func (h *Host) enter(all []*Elector, begun func()) error {
	h.entering <- struct{}{} // like the calls of the store before this one, it waits as long as the store needs
	defer h.release()
	h.mu.Lock()
	stopped := h.stopped
	running := h.intake.Live() > 0
	if running {
		h.admit(all, begun)
		h.wakeLoop()
	}
	h.mu.Unlock()
	if running {
		return nil
	}
	if stopped != nil {
		<-stopped // the previous loop is about to end
	}
	if err := h.beginAsKept(); err != nil {
		return err
	}
	if err := h.exchange(); err != nil {
		return err
	}
	h.nameProcess()
	stopServing, err := h.config.Transport.Serve(h)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admit(all, begun)
	h.stopped = make(chan struct{})
	go h.loop(stopServing, h.stopped)
	return nil
}

// admit puts restored groups into the intake. The host's mu is held.
func (h *Host) admit(all []*Elector, begun func()) {
	last := len(all) - 1
	for _, e := range all[:last] {
		h.intake.Enter(&e.group, e.watchers(), nil)
	}
	h.intake.Enter(&all[last].group, all[last].watchers(), begun)
}

// awaitLoop waits for the end of the loop if no group runs any more, and says whether that is so.
func (h *Host) awaitLoop() (ended bool) {
	h.mu.Lock()
	live, stopped := h.intake.Live(), h.stopped
	h.mu.Unlock()
	if live > 0 {
		return false
	}
	if stopped != nil {
		<-stopped
	}
	return true
}
