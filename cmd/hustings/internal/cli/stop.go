// The signals that stop a node in an orderly way.

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilStopped returns a context that ends with the first such signal. SIGHUP, which a
// closed terminal sends, is one unless it is ignored, as nohup arranges. SIGPIPE is none,
// because the reader of the node's output may end first.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not signal.Ignore, because programs would inherit that
	return signal.NotifyContext(ctx, signals...)
}
