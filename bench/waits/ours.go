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
)

// ours is its three nodes.
type ours struct {
	nodes     *client.Cluster
	elections []string
}

func openOurs(o options, binary, dir string) ([]*process, store, error) {
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
		args := []string{"--node", id, "--nodes", strings.Join(list, ","), "--data", filepath.Join(dir, id), "--shards", "1"}
		if o.detection > 0 {
			args = append(args, "--detection", o.detection.String())
		}
		processes = append(processes, &process{binary: binary, args: append(args, "--new")})
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

func (st *ours) drain(ctx context.Context, process int) error {
	c, err := operator.Dial(st.elections[process], nil)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Drain(ctx, 10*time.Second, nil)
	return err
}

func (st *ours) close() { _ = st.nodes.Close() }
