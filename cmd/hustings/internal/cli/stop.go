// The signals that stop a node in an orderly way.

package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// untilStopped returns a context that ends with the first such signal, and a channel that is closed with the second: whoever
// sends it does not want to wait. SIGHUP, which a closed terminal sends, is one unless it is ignored, as nohup arranges. SIGPIPE
// is none, because the reader of the node's output may end first.
func untilStopped(parent context.Context) (ctx context.Context, hurry <-chan struct{}, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not signal.Ignore, because programs would inherit that
	got := make(chan os.Signal, 2)
	signal.Notify(got, signals...)
	ctx, cancel := context.WithCancel(parent)
	hurried, over := make(chan struct{}), make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for _, does := range []func(){cancel, func() { close(hurried) }} {
			select {
			case <-got:
				does()
			case <-over:
				return
			}
		}
	})
	return ctx, hurried, func() {
		signal.Stop(got)
		close(over)
		watching.Wait()
		cancel()
	}
}
