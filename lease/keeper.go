// The keeper: it gives a protocol.Keeper, which decides everything, a clock, a timer, a store
// and goroutines. Every input is a step under one lock.

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
	id     string // who it is, in the database
	log    *slog.Logger
	waker  Waker     // nil: none
	epoch  time.Time // what time is counted from

	mu        sync.Mutex
	value     *protocol.Keeper
	joined    map[string]*Elector // by name, those that have not ended
	running   int                 // how many of them run
	working   *sync.WaitGroup     // the goroutines, since some have run without a break
	listening context.Context     // ends when none runs any more
	deafen    context.CancelFunc
	timer     *time.Timer      // nil: the value does not want to be called
	rings     time.Duration    // when it rings
	arming    uint64           // counts how often it was armed
	armedIn   *sync.WaitGroup  // the goroutines that it counts with
	lapses    []protocol.Lapse // what the value is to be told next
	lines     []line           // what is to be logged, see unlock
}

// NewKeeper is a keeper without leases. It works while one of its electors runs,
// and needs no closing.
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

// Self is the candidate's identity, as it appears in the database and in a
// Status: its readable name, and what was drawn to tell it from any other process
// that has had or will have the same name.
func (k *Keeper) Self() string { return k.id }

// Join adds a lease to the keeper. It takes part once its Run is called.
func (k *Keeper) Join(config GroupConfig) (*Elector, error) {
	if err := config.validate(); err != nil {
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

// now is the time since the keeper was made, on the monotonic clock.
func (k *Keeper) now() time.Duration { return time.Since(k.epoch) }

// step tells the value what has happened.
func (k *Keeper) step(in protocol.Input) {
	k.mu.Lock()
	defer k.unlock()
	k.stepped(in)
}

// stepped does, for a caller that holds the lock.
func (k *Keeper) stepped(in protocol.Input) {
	next := k.value.Step(k.now(), in, effects{k})
	for len(k.lapses) > 0 {
		lapse := k.lapses[0]
		k.lapses = k.lapses[1:]
		next = k.value.Step(k.now(), lapse, effects{k})
	}
	k.arm(next)
}

// arm has the value called when it wants to be. The timer has a goroutine of its own each time
// that it rings, which is counted from when it is armed.
func (k *Keeper) arm(next time.Duration) {
	if k.timer != nil {
		if next == k.rings {
			return
		}
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
	k.arming++
	k.rings = next
	arming, in := k.arming, k.armedIn
	k.timer = time.AfterFunc(next-k.now(), func() {
		defer in.Done()
		k.ring(arming)
	})
}

// ring says that it is time.
func (k *Keeper) ring(arming uint64) {
	k.mu.Lock()
	defer k.unlock()
	if arming == k.arming {
		k.timer = nil // or it was armed anew before this had the lock
	}
	k.stepped(protocol.Tick{})
}

// enter counts an elector in that runs.
func (k *Keeper) enter() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running++; k.running == 1 {
		k.working = new(sync.WaitGroup)
		k.listening, k.deafen = context.WithCancel(context.Background())
	}
}

// exit counts an elector out that has ended. The last one waits for the goroutines, and holds
// no lock meanwhile: others may run again before it is done.
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
