// examples/ledger, with one shard.

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc"
)

// ours is its three nodes.
type ours struct {
	nodes     *client.Cluster
	elections []string
}

func openOurs(o options, binary, dir string, more ...string) ([]*process, store, error) {
	ports, err := freePorts(3, 2)
	if err != nil {
		return nil, nil, err
	}
	engines, elections := map[string]string{}, map[string]string{}
	var list []string
	st := &ours{}
	for i, port := range ports {
		id := fmt.Sprint("n", i)
		engines[id], elections[id] = local(port), local(port+1)
		list = append(list, id+"="+local(port))
		st.elections = append(st.elections, local(port+1))
	}
	var processes []*process
	for i := range ports {
		id := fmt.Sprint("n", i)
		data := filepath.Join(dir, id)
		args := append([]string{"--node", id, "--nodes", strings.Join(list, ","), "--data", data, "--shards", "1"}, more...)
		if o.detection > 0 {
			args = append(args, "--detection", o.detection.String())
		}
		processes = append(processes, &process{binary: binary, args: args, first: []string{"--new"}, data: data})
	}
	st.nodes, err = client.Connect(context.Background(), engines, elections, 1)
	return processes, st, err
}

func (st *ours) leader(context.Context) (int, error) {
	l, ok := st.nodes.Leader(0)
	if !ok {
		return 0, errors.New("not known yet")
	}
	return int(l.ID[1] - '0'), nil
}

func (st *ours) client() (func(context.Context, []byte, []byte) error, error) {
	return st.nodes.Client().Put, nil
}

// ask asks a process as an operator does.
func (st *ours) ask(process int, ask func(*operator.Client) error) error {
	c, err := operator.Dial(st.elections[process], nil)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return ask(c)
}

func (st *ours) drain(ctx context.Context, process int) error {
	return st.ask(process, func(c *operator.Client) error {
		_, err := c.Drain(ctx, 10*time.Second, nil)
		return err
	})
}

func (st *ours) ready(ctx context.Context, process int) error {
	return st.ask(process, func(c *operator.Client) error {
		nodes, err := c.Nodes(ctx)
		if err == nil && nodes.Progress.Standing.State != rpc.Serving {
			err = fmt.Errorf("it is %v", nodes.Progress.Standing.State)
		}
		return err
	})
}

func (st *ours) close() { _ = st.nodes.Close() }
