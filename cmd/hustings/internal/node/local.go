// Several nodes in one process, for a first look.

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Local runs count nodes on loopback in this process, without TLS, until the context ends.
// It calls found with each node and its address, and removes their stores at the end. It
// uses only the settings of config that concern the group.
func Local(ctx context.Context, count int, config Config, out *Printer, log *slog.Logger, found func(Member)) (err error) {
	data, err := os.MkdirTemp("", "hustings-local-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	members, err := localMembers(count)
	if err != nil {
		return err
	}
	if err := config.checkLocal(members, data); err != nil {
		return ConfigError{err}
	}
	for _, m := range members {
		found(m)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // one node that fails stops all
	log = slog.New(together{log.Handler(), ctx})
	var running sync.WaitGroup
	problems := make([]error, count)
	for i, m := range members {
		running.Go(func() {
			problems[i] = Run(ctx, config.at(m, members, data), out, log)
			if problems[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(problems...)
}

// together drops warnings once the nodes end. They end at the same time, so none is left to
// take over from the leader, and all that follows from this is expected.
type together struct {
	slog.Handler
	running context.Context
}

func (t together) Enabled(ctx context.Context, level slog.Level) bool {
	return t.Handler.Enabled(ctx, level) && (t.running.Err() == nil || level >= slog.LevelError)
}

func (t together) WithAttrs(attributes []slog.Attr) slog.Handler {
	return together{t.Handler.WithAttrs(attributes), t.running}
}

func (t together) WithGroup(name string) slog.Handler {
	return together{t.Handler.WithGroup(name), t.running}
}

// at returns the configuration of one of the nodes.
func (c *Config) at(m Member, members []Member, data string) Config {
	return Config{
		Node: m.ID, Group: c.Group, Members: members, Data: data, New: true,
		Leases: c.Leases, Timing: c.Timing, Preferred: c.Preferred,
		DrainWait: new(time.Duration), // all end together, so nobody is left to take over
		Exec:      c.Exec, Alive: c.Alive, Notify: c.Notify, Vouch: c.Vouch,
	}
}

// checkLocal reports problems once that each of the nodes would report.
func (c *Config) checkLocal(members []Member, data string) error {
	for _, id := range c.Preferred {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.ID == id }) {
			return fmt.Errorf("--preferred names %q, which is none of %s to %s", id, members[0].ID, members[len(members)-1].ID)
		}
	}
	first := c.at(members[0], members, data)
	return first.check()
}

func localMembers(count int) ([]Member, error) {
	addresses, err := FreeAddresses(count)
	var members []Member
	for i, address := range addresses {
		members = append(members, Member{ID: fmt.Sprintf("n%d", i), Address: address})
	}
	return members, err
}

// lastPort is the port that FreeAddresses has looked at last. Each process begins somewhere else, and looks at none
// again before it has seen all others: a port may be free because the node that it was found for restarts.
var lastPort = func() *atomic.Uint32 {
	var p atomic.Uint32
	p.Store(rand.Uint32())
	return &p
}()

// FreeAddresses finds free ports on loopback. They are below the ephemeral ports, so that no
// outgoing connection takes one before a node does, or while a node restarts.
func FreeAddresses(count int) (addresses []string, err error) {
	const lowest, above, attempts = 20_000, 32_768, 1000
	for range attempts {
		if len(addresses) == count {
			return addresses, nil
		}
		address := fmt.Sprintf("127.0.0.1:%d", lowest+lastPort.Add(1)%(above-lowest))
		if free(address) {
			addresses = append(addresses, address)
		}
	}
	return addresses, fmt.Errorf("found %d free ports on 127.0.0.1, want %d", len(addresses), count)
}

// free reports whether a node can listen at an address, and leaves nothing there. A program that is being started has
// copies of this process's sockets, so an address may be in use for a moment after its listener has been closed. On
// Windows it has none, and a connection to nobody takes two seconds.
func free(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil || l.Close() != nil {
		return false
	}
	for range 100 {
		if runtime.GOOS == "windows" {
			return true
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		_ = c.Close()
	}
	return false
}
