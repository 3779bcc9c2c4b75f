// Reading the tables of nodes, each in a goroutine of its own, across their restarts.

package route

import (
	"context"
	"iter"
	"time"

	"github.com/hustings/hustings/internal/backoff"
	"github.com/hustings/hustings/operator"
)

// A lost node is tried again after the shortest wait, and then ever more rarely, up to the longest.
const shortestWait, longestWait = 250 * time.Millisecond, 4 * time.Second

// opener reads the table of the node at an address until the context ends or an error occurs, which is yielded last. Tests
// have one of their own.
type opener func(ctx context.Context, address string, config *Config) iter.Seq2[operator.Rows, error]

// dial connects to the node anew.
func dial(ctx context.Context, address string, config *Config) iter.Seq2[operator.Rows, error] {
	return func(yield func(operator.Rows, error) bool) {
		c, err := operator.Dial(address, config.TLS)
		if err != nil {
			yield(operator.Rows{}, err)
			return
		}
		defer func() { _ = c.Close() }() // the rows were read, or another error says why not
		c.Table(ctx, config.Prefix)(yield)
	}
}

// follow reads a node's table until the context ends.
func (r *Router) follow(ctx context.Context, node int) {
	address := r.config.Addresses[node]
	waits, lost := backoff.Waits{Shortest: shortestWait, Longest: longestWait}, false
	for {
		err := r.read(ctx, node, func() {
			if lost {
				r.log.Info("the table of a node is complete again", "address", address)
			}
			lost = false
			waits.Reset()
		})
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		r.table.lose(node)
		r.mu.Unlock()
		if !lost {
			r.log.Warn("the table of a node is lost; retrying", "address", address, "error", err)
			lost = true
		}
		if waits.Wait(ctx) != nil {
			return
		}
	}
}

// read reads a node's table until it is lost, and calls completed when all rows have come.
func (r *Router) read(ctx context.Context, node int, completed func()) error {
	r.mu.Lock()
	r.table.begin(node)
	r.mu.Unlock()
	complete := false
	for rows, err := range r.open(ctx, r.config.Addresses[node], &r.config) {
		if err != nil {
			return err
		}
		last := rows.Current && !complete
		r.take(node, rows.Rows, last)
		if last {
			complete = true
			completed()
		}
	}
	return ctx.Err()
}

// take takes in rows of a node. With the last of its first ones, what it has no more is forgotten: only then, because that walks
// through all groups.
func (r *Router) take(node int, rows []operator.Row, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.begun)
	for i := range rows {
		r.table.take(node, &rows[i], now, r.config.Doubt)
		r.changed(rows[i].Group)
	}
	if last {
		r.table.complete(node)
	}
}
