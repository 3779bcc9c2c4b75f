// The program that runs while this node leads. It is not this process's child but
// that of a watchdog, which kills it when the lease ends, or when this process
// does: a program that outlives its office would be a second leader.

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

type program struct {
	command string
	every   time.Duration // how often the watchdog is told of the lease
	// graceful: when the context of an office ends the lease lasts on, and the
	// program has until its end.
	graceful bool

	mu      sync.Mutex
	running *watched // nil: none
}

// watched is a program that was started.
type watched struct {
	orders io.WriteCloser
	mu     sync.Mutex  // of orders
	asked  atomic.Bool // to end
	ended  chan struct{}
	err    error // how it ended
}

// errDone is how a program ends that has not failed.
var errDone = errors.New("exit status 0")

// run runs the program until it ends, or until the context does: then it is killed,
// or asked to end, and killed with the lease, if it is graceful. It is an error if
// the program ends and nobody has asked it to.
func (p *program) run(ctx context.Context, environment []string, lease func() (int64, bool)) error {
	w, err := p.start(environment, lease)
	if err != nil {
		return err
	}
	p.set(w)
	defer p.set(nil)
	again := time.NewTicker(p.every)
	defer again.Stop()
	for {
		select {
		case <-w.ended:
			if w.asked.Load() {
				return nil
			}
			return fmt.Errorf("the program has ended by itself: %w", cmp.Or(w.err, errDone))
		case <-ctx.Done():
			if p.graceful {
				w.ask()
			} else {
				_ = w.orders.Close() // the watchdog takes this for our end
			}
			<-w.ended
			return ctx.Err()
		case <-again.C:
			if end, ok := lease(); ok {
				w.order("until %d", end)
			}
		}
	}
}

func (p *program) set(w *watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = w
}

// start starts the watchdog, which starts the program.
func (p *program) start(environment []string, lease func() (int64, bool)) (*watched, error) {
	end, ok := lease()
	if !ok {
		return nil, errors.New("the lease has ended before the program was started")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, WatchdogCommand, p.command)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // stdout is for what the node says
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &watched{orders: orders, ended: make(chan struct{})}
	w.order("until %d", end)
	go func() {
		defer close(w.ended)
		w.err = cmd.Wait()
	}()
	return w, nil
}

// order tells the watchdog something. If it is gone, so is the program.
func (w *watched) order(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Fprintf(w.orders, format+"\n", args...)
}

// ask asks the program to end.
func (w *watched) ask() {
	w.asked.Store(true)
	w.order("stop")
}

// pause asks the program to end, and waits until it has: then there are no more
// writes, and the leadership can be handed over.
func (p *program) pause(ctx context.Context) error {
	p.mu.Lock()
	w := p.running
	p.mu.Unlock()
	if w == nil {
		return nil
	}
	w.ask()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WatchdogCommand is the command, hidden from users, that is the watchdog.
const WatchdogCommand = "watchdog"
