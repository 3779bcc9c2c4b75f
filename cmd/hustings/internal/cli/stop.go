// What ends a node: the signals that take it out of service, in order, and nothing else.

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilStopped ends with the first such signal. SIGHUP is one, because a terminal sends it
// when it is closed, unless it is ignored: nohup has it ignored, to outlive the terminal.
// SIGPIPE is none: whoever reads what the node prints may end first.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // and not ignored, which programs would inherit
	return signal.NotifyContext(ctx, signals...)
}
