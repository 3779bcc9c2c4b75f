// Watching the nodes of a group, across their restarts.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/backoff"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func newWatch() *cobra.Command {
	var o operation
	cmd := o.command("watch", "Print the state of a group's nodes, now and after every change", `  hustings watch -a 10.0.0.1:7000 --json`,
		3*time.Second, o.watch)
	cmd.Long = `Print the state of a group's nodes, now and after every change, until interrupted.
One address is enough, because that node knows the others. A node that stops answering
is reported once, and retried until it is back.`
	return cmd
}

func (o *operation) watch(ctx context.Context, cmd *cobra.Command, _ []string) error {
	files, err := o.files()
	if err != nil {
		return err
	}
	first := o.ask(ctx, o.addresses, files)
	found, others := first.list, first.others
	var problems []error
	for i := range found {
		if found[i].Error != "" {
			problems = append(problems, fmt.Errorf("%s: %s", found[i].Address, found[i].Error))
		}
	}
	if len(problems) == len(o.addresses) {
		return errors.Join(problems...)
	}
	if o.group == "" && (len(first.crowds) > 0 || len(others) == 0 && len(found) > len(o.addresses)) {
		return usageError{errors.New("--group is not given, and the node has several groups")}
	}
	w := watcher{operation: o, cmd: cmd, files: files}
	w.once = w.watchOnce
	ctx, w.stop = context.WithCancel(ctx)
	defer w.stop()
	var watching sync.WaitGroup
	for _, address := range append(o.addresses, others.addresses()...) {
		if id := others[address].node; id != "" && answered(found, id) {
			continue // it was asked at another address
		}
		watching.Go(func() { w.follow(ctx, address) })
	}
	watching.Wait()
	return w.err
}

func answered(all []shownStatus, id string) bool {
	for i := range all {
		if all[i].Node == id {
			return true
		}
	}
	return false
}

// watcher prints the changes of several nodes.
type watcher struct {
	*operation
	cmd   *cobra.Command
	files *grpcrpc.TLS
	stop  context.CancelFunc
	once  func(ctx context.Context, address string, heard func()) error // is watchOnce, except in tests

	mu  sync.Mutex
	err error // of stdout
}

// shownChange is a line of watch.
type shownChange struct {
	Time string `json:"time"`
	shownStatus
}

func (w *watcher) print(s shownStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now().Format(node.TimeOfDay)
	if w.err != nil {
		return
	}
	switch {
	case w.asJSON:
		w.err = json.NewEncoder(w.cmd.OutOrStdout()).Encode(shownChange{at, s})
	case s.Error != "":
		_, w.err = fmt.Fprintf(w.cmd.OutOrStdout(), "%s  %-22s %s; retrying\n", at, s.Address, s.Error)
	default:
		if _, w.err = fmt.Fprintf(w.cmd.OutOrStdout(), "%s  ", at); w.err == nil {
			w.err = s.print(w.cmd.OutOrStdout(), false)
		}
	}
	if w.err != nil {
		w.stop()
	}
}

// follow watches a node until the context ends, and reconnects whenever it is lost.
func (w *watcher) follow(ctx context.Context, address string) {
	waits, told := backoff.Waits{Shortest: 250 * time.Millisecond, Longest: 4 * time.Second}, false
	for {
		err := w.once(ctx, address, func() {
			told = false
			waits.Reset()
		})
		if ctx.Err() != nil {
			return
		}
		if !told {
			w.print(shownStatus{Address: address, Error: strings.TrimPrefix(err.Error(), address+": ")})
			told = true
		}
		if waits.Wait(ctx) != nil {
			return
		}
	}
}

var errEnded = errors.New("the node has stopped")

// watchOnce watches a node until it is lost, which is always an error.
func (w *watcher) watchOnce(ctx context.Context, address string, heard func()) (err error) {
	c, err := operator.Dial(address, w.files)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // all that it sent was printed
	for s, err := range c.Watch(ctx, w.group) {
		if err != nil {
			return err
		}
		heard()
		w.print(shown(address, elector.Report{Status: s}))
	}
	return errEnded
}
