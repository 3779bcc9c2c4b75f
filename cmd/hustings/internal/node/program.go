// The program that runs while this node leads. Two watchdogs start it and end it; the node
// only sends them the deadline.

package node

import (
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/memberstate"
)

type program struct {
	command string
	every   time.Duration // interval at which the watchdogs get the end of the lease
	// graceful says that the lease outlasts the context of an office, and that the
	// program may run until the lease ends.
	graceful bool
	ability  *ability // nil: nothing vouches for it
	log      *slog.Logger

	mu      sync.Mutex
	running *watched         // nil: none
	paused  memberstate.Term // in terms up to this one no program may be started
	standby standby          // after failures
}

// WatchdogCommand is the hidden command that runs a watchdog. Its one argument is
// OuterWatchdog or InnerWatchdog.
const WatchdogCommand = "watchdog"

// The places of a watchdog: the outer one starts the inner one, which starts the program.
const (
	OuterWatchdog = "outer"
	InnerWatchdog = "inner"
)

func (p *program) set(w *watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = w
}
