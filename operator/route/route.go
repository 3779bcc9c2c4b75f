// Package route finds the leader of each of very many groups, for programs that send requests to leaders.
//
// A [Router] reads the tables of several nodes and keeps the newest row of each group. A row is newer if its term is larger, so
// it does not matter which node is ahead, or in which order the rows come. What a Router answers may be old: the leader that it
// names may have lost its office since. That does no harm if leaders refuse what they may not do. Then tell [Router.Refused], and
// wait for the next leader with [Router.Await].
//
// With TLS a Router needs the certificate of an operator. A node serves 32 connections of operators; if a Router in every client
// would be more, have a few programs route for all.
package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/internal/logging"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// MaxNodes is how many nodes a Router reads the tables of at most. Two or three that have all groups are enough.
const MaxNodes = 64

// usualDoubt is how long a leader that has refused is not named again, unless it leads a newer term.
const usualDoubt = time.Second

// ErrClosed is the error of Await when the Router has been closed.
var ErrClosed = errors.New("route: the router has been closed")

// Config says which tables a Router reads.
type Config struct {
	// Addresses are those of nodes, as operator.Dial takes them. For each group, at least one of its members should be
	// among the nodes; with two, the Router goes on while one of them is away.
	Addresses []string
	// TLS names an operator's certificate; nil for nodes without TLS.
	TLS *grpcrpc.TLS
	// Prefix is how the names of the groups begin; empty: all groups.
	Prefix string
	// Doubt is how long a leader that has refused is not named again, unless it leads a newer term; zero: one second.
	Doubt time.Duration
	// Logger is told when a node is lost, and when its table is complete again; nil: warnings go to slog.Default.
	Logger *slog.Logger
}

// Leader is who leads a group in a term.
type Leader struct {
	ID      string
	Address string // empty: no node that was asked knows it
	Term    memberstate.Term
}

// Router knows the leaders of groups. Its methods may be called by any goroutine.
type Router struct {
	config  Config
	log     *slog.Logger
	begun   time.Time
	open    opener
	stop    context.CancelFunc
	ended   <-chan struct{}
	readers sync.WaitGroup

	mu      sync.Mutex
	table   table
	waiters map[string]*waiters // of groups that Await waits for
}

// waiters are the callers of Await that wait for one group.
type waiters struct {
	changed chan struct{} // closed when the group's entry has changed
	count   int
}

// New returns a Router that reads the tables of nodes until the context ends or it is closed. It does not wait for them: a node
// that cannot be reached is tried again, ever more rarely. The error says what is wrong with the configuration.
func New(ctx context.Context, config Config) (*Router, error) {
	if n := len(config.Addresses); n == 0 || n > MaxNodes {
		return nil, fmt.Errorf("route: %d addresses of nodes, want 1 to %d", n, MaxNodes)
	}
	for _, address := range config.Addresses {
		c, err := operator.Dial(address, config.TLS)
		if err != nil {
			return nil, fmt.Errorf("route: %s: %w", address, err)
		}
		_ = c.Close() // it has not been used
	}
	return start(ctx, config, dial), nil
}

func start(ctx context.Context, config Config, open opener) *Router {
	ctx, stop := context.WithCancel(ctx)
	r := &Router{
		config: config, log: logging.Or(config.Logger), begun: time.Now(), open: open, stop: stop, ended: ctx.Done(),
		table: table{entries: make(map[string]*entry)}, waiters: make(map[string]*waiters),
	}
	if r.config.Doubt <= 0 {
		r.config.Doubt = usualDoubt
	}
	for i := range config.Addresses {
		r.readers.Go(func() { r.follow(ctx, i) })
	}
	return r
}

// Close ends the Router, and with it every Await. It returns when nothing goes on any more.
func (r *Router) Close() {
	r.stop()
	r.readers.Wait()
}

// Leader returns the leader of a group, if one is known and has not just refused. It never waits.
func (r *Router) Leader(group string) (Leader, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table.leader(group, time.Since(r.begun))
}

// Refused says that the leader of this term has refused a request because it leads the group no more, or does not yet. The
// group then has no leader until a newer one is known, or until Config.Doubt has passed: the leader may have refused because
// it had only just been elected, and no newer one will come.
func (r *Router) Refused(group string, term memberstate.Term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.table.entries[group]; e != nil && e.leader.Term == term {
		e.doubtedUntil = time.Since(r.begun) + r.config.Doubt
	}
}

// Await waits for a leader of a group, if none is known now. Its error is that of the context, or ErrClosed.
func (r *Router) Await(ctx context.Context, group string) (Leader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		now := time.Since(r.begun)
		if found, ok := r.table.leader(group, now); ok {
			return found, nil
		}
		if err := r.wait(ctx, group, r.table.doubt(group, now)); err != nil {
			return Leader{}, err
		}
	}
}

// AwaitNewer waits for a leader of a larger term than this. A client that waits for the answer of a leader calls it at the same time: if
// the leader hangs, or is cut off, nothing tells the client but that another one leads.
func (r *Router) AwaitNewer(ctx context.Context, group string, term memberstate.Term) (Leader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		now := time.Since(r.begun)
		if found, ok := r.table.leader(group, now); ok && found.Term > term {
			return found, nil
		}
		if err := r.wait(ctx, group, r.table.doubt(group, now)); err != nil {
			return Leader{}, err
		}
	}
}

// wait waits until the group's entry has changed, or until it is no longer in doubt; zero: it is not. The Router's mu is
// held before and after, and not meanwhile.
func (r *Router) wait(ctx context.Context, group string, doubt time.Duration) error {
	w := r.waiters[group]
	if w == nil {
		w = &waiters{changed: make(chan struct{})}
		r.waiters[group] = w
	}
	w.count++
	r.mu.Unlock()
	var over <-chan time.Time
	if doubt > 0 {
		timer := time.NewTimer(doubt)
		defer timer.Stop()
		over = timer.C
	}
	var err error
	select {
	case <-w.changed:
	case <-over:
	case <-ctx.Done():
		err = fmt.Errorf("route: no leader of group %q is known: %w", group, context.Cause(ctx))
	case <-r.ended:
		err = ErrClosed
	}
	r.mu.Lock()
	if w.count--; w.count == 0 && r.waiters[group] == w {
		delete(r.waiters, group)
	}
	return err
}

// changed wakes those who wait for a group. The Router's mu is held.
func (r *Router) changed(group string) {
	if w := r.waiters[group]; w != nil {
		close(w.changed)
		delete(r.waiters, group)
	}
}
