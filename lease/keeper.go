// The keeper: one candidate with the leases that it holds or would hold in one
// database. It looks at all of them together and renews all of them together, up to
// 10,000 with one call of the store.

package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/logging"
)

// Keeper holds one candidate's leases in one database.
type Keeper struct {
	config KeeperConfig
	id     string // who it is, in the database
	log    *slog.Logger
	waker  Waker         // nil: none
	epoch  time.Time     // what time is counted from
	roused chan struct{} // told when woken is not empty
	lanes  [kindCount]lane
	claims chan struct{} // holds one for every claim that is being made

	troubles [kindCount]trouble

	entering sync.Mutex // held while the goroutines are being started or ended
	working  sync.WaitGroup
	stop     context.CancelFunc // ends the goroutines

	mu      sync.Mutex
	joined  map[string]*Elector // by name, those that have not ended
	running int                 // how many of them run
	woken   map[string]struct{} // leases to look at soon
	lines   []line              // what is to be logged, see unlock
}

// NewKeeper is a keeper without leases. It works while one of its electors runs,
// and needs no closing.
func NewKeeper(config KeeperConfig) (*Keeper, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	k := &Keeper{
		config: config, id: config.Self + "#" + rand.Text(), log: logging.Or(config.Logger), waker: config.Waker, epoch: time.Now(),
		roused: make(chan struct{}, 1), lanes: newLanes(), claims: make(chan struct{}, maxClaims),
		joined: make(map[string]*Elector), woken: make(map[string]struct{}),
	}
	if w, ok := config.Store.(Waker); ok && k.waker == nil {
		k.waker = w
	}
	return k, nil
}

// Self is the candidate's identity, as it appears in the database and in a
// Status: its readable name, and what was drawn to tell it from any other process
// that has had or will have the same name.
func (k *Keeper) Self() string { return k.id }

// Join adds a lease to the keeper. It takes part once its Run is called.
func (k *Keeper) Join(config Config) (*Elector, error) {
	var bad complaints
	if config.Self != "" || config.Store != nil || config.Waker != nil || config.Timing != (Timing{}) || config.Strict || config.Logger != nil {
		bad.add("Self, Store, Waker, Timing, Strict and Logger", "are the keeper's, and must be left out of a lease's configuration")
	}
	if err := errors.Join(append(bad, config.validate())...); err != nil {
		return nil, err
	}
	e := newElector(k, config)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.joined[config.Name] != nil {
		return nil, elector.ErrGroupExists
	}
	k.joined[config.Name] = e
	return e, nil
}

// now is the time since the keeper was made, on the monotonic clock.
func (k *Keeper) now() time.Duration { return time.Since(k.epoch) }

// enter counts an elector in that runs, and starts to work for the first one. Its
// caller holds both locks.
func (k *Keeper) enter() {
	k.running++
	if k.running > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	k.stop = cancel
	k.working.Go(func() { k.renewals(ctx) })
	k.working.Go(func() { k.polls(ctx) })
	if k.waker != nil {
		k.working.Go(func() { k.listen(ctx) })
	}
}

// exit counts an elector out that has ended. The last one waits for the
// goroutines.
func (k *Keeper) exit(e *Elector) {
	k.entering.Lock()
	defer k.entering.Unlock()
	k.mu.Lock()
	delete(k.joined, e.config.Name)
	k.running--
	last := k.running == 0
	k.mu.Unlock()
	if last {
		k.stop()
		k.working.Wait()
	}
}

// rouse has a lease looked at soon.
func (k *Keeper) rouse(name string) {
	k.mu.Lock()
	_, ours := k.joined[name]
	if ours {
		k.woken[name] = struct{}{}
	}
	k.mu.Unlock()
	if !ours {
		return
	}
	select {
	case k.roused <- struct{}{}:
	default: // it has been told already
	}
}

// listen hears of released leases for as long as it can.
func (k *Keeper) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := k.waker.Listen(ctx, k.rouse); err != nil && ctx.Err() == nil {
			k.came(listening, err)
		}
		pause(ctx, k.config.Timing.Poll)
	}
}

// pause waits, and says whether the context still lives.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
