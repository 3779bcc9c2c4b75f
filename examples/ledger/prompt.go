// The prompt: commands that a reader types, and three nodes to try them on.

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/examples/ledger/server"
)

// cluster is the nodes that the prompt is about. Those that run in this process can be stopped, and started again.
type cluster struct {
	addresses map[string]string
	shards    uint32
	start     func(id string) (*server.Node, error) // nil: they run elsewhere
	running   map[string]*server.Node
	nodes     *client.Cluster
	client    *client.Client
}

// runLocal runs all nodes in this process, with data that is removed at the end.
func runLocal(ctx context.Context, o options, addresses map[string]string, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "ledger-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c := &cluster{addresses: addresses, shards: uint32(o.shards), running: map[string]*server.Node{}}
	c.start = func(id string) (*server.Node, error) {
		own := o
		own.dir = filepath.Join(dir, id)
		_, err := os.Stat(own.dir)
		own.fresh = os.IsNotExist(err)
		return server.Start(config(own, addresses, id, func(err error) { _, _ = fmt.Fprintf(out, "%s cannot go on: %v\n", id, err) }))
	}
	defer c.stopAll()
	for id := range addresses {
		if c.running[id], err = c.start(id); err != nil {
			delete(c.running, id)
			return err
		}
	}
	return prompt(ctx, c, in, out)
}

func (c *cluster) stopAll() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range c.running {
		_ = n.Stop(ended)
	}
}

const help = `put KEY VALUE      delete KEY      swap KEY OLD NEW (OLD is - for no value)
get KEY            by the leader's lease, if nodes have --leases
ask KEY            by a quorum
leaders            who leads which shard
stop NODE          hand over what it leads, and end it; start NODE
help, quit
`

// prompt reads commands until there are no more.
func prompt(ctx context.Context, c *cluster, in io.Reader, out io.Writer) error {
	elections := map[string]string{}
	for id, address := range c.addresses {
		elections[id], _ = server.ElectionsAt(address) // it was checked
	}
	nodes, err := client.Connect(ctx, c.addresses, elections, c.shards)
	if err != nil {
		return err
	}
	defer func() { _ = nodes.Close() }()
	c.nodes, c.client = nodes, nodes.Client()
	_, _ = fmt.Fprint(out, help)
	lines := make(chan string)
	go func() {
		defer close(lines)
		for all := bufio.NewScanner(in); all.Scan(); {
			lines <- all.Text()
		}
	}()
	for {
		_, _ = fmt.Fprint(out, "> ")
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			words := strings.Fields(line)
			if !more || len(words) == 1 && words[0] == "quit" {
				return nil
			}
			if len(words) > 0 {
				began := time.Now()
				wait, cancel := context.WithTimeout(ctx, 10*time.Second)
				said, err := c.obey(wait, words)
				cancel()
				if err != nil {
					said = err.Error()
				}
				_, _ = fmt.Fprintf(out, "%s  (%v)\n", said, time.Since(began).Round(10*time.Microsecond))
			}
		}
	}
}

// obey does what one line says.
func (c *cluster) obey(ctx context.Context, words []string) (string, error) {
	switch command := words[0]; {
	case command == "put" && len(words) == 3:
		return "done", c.client.Put(ctx, []byte(words[1]), []byte(words[2]))
	case command == "delete" && len(words) == 2:
		return "done", c.client.Delete(ctx, []byte(words[1]))
	case command == "swap" && len(words) == 4:
		return c.swap(ctx, words[1], words[2], words[3])
	case (command == "get" || command == "ask") && len(words) == 2:
		value, found, err := c.client.Get(ctx, []byte(words[1]), command == "ask")
		if !found {
			return "no value", err
		}
		return string(value), err
	case command == "leaders" && len(words) == 1:
		return c.leaders(), nil
	case (command == "stop" || command == "start") && len(words) == 2:
		return c.turn(ctx, command, words[1])
	case command == "help":
		return strings.TrimSuffix(help, "\n"), nil
	}
	return "", fmt.Errorf("%q is no command\n%s", strings.Join(words, " "), strings.TrimSuffix(help, "\n"))
}

func (c *cluster) swap(ctx context.Context, key, old, value string) (string, error) {
	var was []byte
	if old != "-" {
		was = []byte(old)
	}
	swapped, err := c.client.Swap(ctx, []byte(key), was, []byte(value))
	if !swapped {
		return "not done: it has another value", err
	}
	return "done", err
}

// leaders says who leads each shard, as far as is known.
func (c *cluster) leaders() string {
	var all []string
	for shard := range c.shards {
		line := fmt.Sprintf("shard %d: nobody", shard)
		if l, ok := c.nodes.Leader(shard); ok {
			line = fmt.Sprintf("shard %d: %s in term %d", shard, l.ID, l.Term)
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// turn stops or starts a node of this process.
func (c *cluster) turn(ctx context.Context, command, id string) (string, error) {
	n := c.running[id]
	switch {
	case c.start == nil:
		return "the nodes run elsewhere", nil
	case c.addresses[id] == "":
		return "there is no node " + id, nil
	case command == "stop" && n != nil:
		delete(c.running, id)
		return id + " has ended", n.Stop(ctx)
	case command == "start" && n == nil:
		n, err := c.start(id)
		if err == nil {
			c.running[id] = n
		}
		return id + " serves", err
	}
	return "it is so already", nil
}
