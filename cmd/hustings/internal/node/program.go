// The program that runs while this node leads. Two watchdogs start it and end it; this
// process only tells them until when it may run.

package node

import (
	"sync"
	"time"
)

type program struct {
	command string
	every   time.Duration // how often the watchdogs are told of the lease
	// graceful: when the context of an office ends the lease lasts on, and the
	// program has until its end.
	graceful bool

	mu      sync.Mutex
	running *watched // nil: none
	standby standby  // after failures
}

// WatchdogCommand is the command, hidden from users, that is a watchdog. Its one
// argument is OuterWatchdog or InnerWatchdog.
const WatchdogCommand = "watchdog"

// The places of a watchdog: the outer one starts the inner one, and that the program.
const (
	OuterWatchdog = "outer"
	InnerWatchdog = "inner"
)

func (p *program) set(w *watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = w
}
