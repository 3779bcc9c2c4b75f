// The keeper: it gives a clock, a timer, a store and goroutines to a protocol.Keeper, which
// makes all decisions. Every input is a step under one lock.

package lease

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/logging"
	"github.com/hustings/hustings/lease/protocol"
)

// Keeper holds one candidate's leases in one database.
type Keeper struct {
	config KeeperConfig
	id     string // its identity in the database
	log    *slog.Logger
	waker  Waker     // nil: none
	epoch  time.Time // times are counted from here

	mu        sync.Mutex
	value     *protocol.Keeper
	joined    map[string]*Elector // those that have not ended, by name
	running   int                 // how many of them run
	working   *sync.WaitGroup     // the goroutines since the first of them has run
	listening context.Context     // ends when the last of them has ended
	deafen    context.CancelFunc
	timer     *time.Timer      // nil: no tick is due; it may have rung
	armedIn   *sync.WaitGroup  // counts the timer's goroutine
	lapses    []protocol.Lapse // the next inputs of the value
	lines     []line           // to be logged, see unlock
}

// NewKeeper makes a keeper without leases. It works while one of its electors runs, and
// need not be closed.
func NewKeeper(config KeeperConfig) (*Keeper, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	k := &Keeper{
		config: config, id: config.Self + "#" + rand.Text(), log: logging.Or(config.Logger), waker: config.Waker, epoch: time.Now(),
		joined: make(map[string]*Elector),
	}
	if w, ok := config.Store.(Waker); ok && k.waker == nil {
		k.waker = w
	}
	k.value = protocol.NewKeeper(protocol.Rules{
		ID: k.id, Self: config.Self, Strict: config.Strict, Wakes: k.waker != nil, Timing: config.Timing, Limits: protocol.DefaultLimits(),
	})
	return k, nil
}

// Self returns the candidate's identity, as it appears in the database and in a Status:
// its readable name and a random suffix, which no other process with that name has.
func (k *Keeper) Self() string { return k.id }

// Join adds a lease to the keeper. It takes part once its Run is called.
func (k *Keeper) Join(config GroupConfig) (*Elector, error) {
	if err := config.validate(k.config.Timing); err != nil {
		return nil, err
	}
	e := newElector(k, config)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.joined[config.Name] != nil {
		return nil, fmt.Errorf("lease: group %q: %w", config.Name, elector.ErrGroupExists)
	}
	k.joined[config.Name] = e
	return e, nil
}

// now returns the time since the keeper was made, on the monotonic clock.
func (k *Keeper) now() time.Duration { return time.Since(k.epoch) }

// step gives the value an input.
func (k *Keeper) step(in protocol.Input) {
	k.mu.Lock()
	defer k.unlock()
	k.stepped(in)
}

// stepped is step for a caller that holds the lock.
func (k *Keeper) stepped(in protocol.Input) {
	next := k.value.Step(k.now(), in, effects{k})
	for len(k.lapses) > 0 {
		lapse := k.lapses[0]
		k.lapses = k.lapses[1:]
		next = k.value.Step(k.now(), lapse, effects{k})
	}
	k.arm(next)
}

// arm sets the timer for the next tick, after every step anew: a timer that has rung must not
// be taken for one that will. Each ring of the timer runs in a goroutine of its own, which is
// counted from the arming. It may come after another step has armed the timer again, and is
// then a tick at which nothing is due.
func (k *Keeper) arm(next time.Duration) {
	if k.timer != nil {
		if k.timer.Stop() {
			k.armedIn.Done()
		}
		k.timer = nil
	}
	if next == protocol.Never {
		return
	}
	k.working.Add(1)
	k.armedIn = k.working
	in := k.armedIn
	// Never at once: in a test's bubble Go 1.26 would run the timer right here, which may crash under the race detector.
	now := k.now()
	k.timer = time.AfterFunc(max(next, now+1)-now, func() {
		defer in.Done()
		k.step(protocol.Tick{})
	})
}

// enter counts a running elector. Its caller holds the lock.
func (k *Keeper) enter() {
	if k.running++; k.running == 1 {
		k.working = new(sync.WaitGroup)
		k.listening, k.deafen = context.WithCancel(context.Background())
	}
}

// exit uncounts an elector that has ended. The last one waits for the goroutines, without the
// lock, because others may begin to run meanwhile.
func (k *Keeper) exit(e *Elector) {
	k.mu.Lock()
	delete(k.joined, e.config.Name)
	k.running--
	last, working := k.running == 0, k.working
	if last {
		k.deafen()
	}
	k.mu.Unlock()
	if last {
		working.Wait()
	}
}
