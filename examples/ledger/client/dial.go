// Clients of real nodes.

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/internal/connect"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/operator/route"
)

// Cluster is connections to all nodes, for any number of clients.
type Cluster struct {
	router *route.Router
	nodes  nodes
	shards uint32
}

// nodes are connections by the nodes' ids.
type nodes map[string]*grpc.ClientConn

// Connect connects to nodes, whose engines and electors listen at these addresses.
func Connect(ctx context.Context, engines, elections map[string]string, shards uint32) (*Cluster, error) {
	c := &Cluster{nodes: nodes{}, shards: shards}
	var tables []string
	for id, address := range engines {
		conn, err := connect.To(address)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.nodes[id] = conn
		tables = append(tables, elections[id])
	}
	router, err := route.New(ctx, route.Config{Addresses: tables, Doubt: 50 * time.Millisecond})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.router = router
	return c, nil
}

// Client is one more client of these nodes.
func (c *Cluster) Client() *Client { return New(c.router, c.nodes, c.shards, time.Second) }

// Leader is who leads a shard, if that is known.
func (c *Cluster) Leader(shard uint32) (route.Leader, bool) {
	return c.router.Leader(engine.Group(shard))
}

// Close closes the connections.
func (c *Cluster) Close() (err error) {
	if c.router != nil {
		c.router.Close()
	}
	for _, conn := range c.nodes {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// Do asks a node.
func (n nodes) Do(ctx context.Context, node string, r *ledgerpb.Request) (*ledgerpb.Reply, error) {
	conn := n[node]
	if conn == nil {
		return nil, fmt.Errorf("there is no node %q", node)
	}
	return ledgerpb.NewStoreClient(conn).Do(ctx, r)
}
