// A few nodes in one process, for a first look.

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
)

// Local runs some nodes on loopback in this process, without TLS, until the
// context ends. Each is told to found when it is known where it listens. What they
// keep is gone when they end.
func Local(ctx context.Context, count int, leases bool, out *Printer, log *slog.Logger, found func(Member)) (err error) {
	data, err := os.MkdirTemp("", "hustings-local-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	members, err := localMembers(count)
	if err != nil {
		return err
	}
	for _, m := range members {
		found(m)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // if one cannot run, none does
	var running sync.WaitGroup
	problems := make([]error, count)
	for i, m := range members {
		running.Go(func() {
			problems[i] = Run(ctx, Config{
				Node: m.ID, Group: "demo", Members: members, Data: data, New: true, Leases: leases,
			}, out, log)
			if problems[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(problems...)
}

func localMembers(count int) ([]Member, error) {
	addresses, err := FreeAddresses(count)
	var members []Member
	for i, address := range addresses {
		members = append(members, Member{ID: fmt.Sprintf("n%d", i), Address: address})
	}
	return members, err
}

// FreeAddresses finds ports on loopback that nobody listens on. They are below
// those that systems give to connections that go out, so that none of these takes
// one before a node does, or while a node is restarted.
func FreeAddresses(count int) (addresses []string, err error) {
	const lowest, above, attempts = 20_000, 32_768, 1000
	var listeners []net.Listener // all at once, so that no port is given twice
	for range attempts {
		if len(listeners) == count {
			break
		}
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(above-lowest))
		if l, err := net.Listen("tcp", address); err == nil {
			listeners, addresses = append(listeners, l), append(addresses, address)
		}
	}
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	if len(addresses) < count {
		err = errors.Join(err, fmt.Errorf("found %d free ports on 127.0.0.1, want %d", len(addresses), count))
	}
	return addresses, err
}
