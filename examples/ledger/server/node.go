// Package server runs a node of the example engine as a process does: with files, and with gRPC at two ports. At the first one
// it talks to the engines of other nodes and to clients; at the next one, to electors and operators.
package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"google.golang.org/grpc"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/internal/connect"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Config describes a node.
type Config struct {
	Self      string
	Addresses map[string]string // of the engines, by node
	Dir       string
	New       bool // the node has never run, so there is no data
	Shards    uint32
	Timing    elector.Timing
	Leases    bool // see engine.Config
	Failed    func(error)
	Logger    *slog.Logger
}

// Node is a node that runs.
type Node struct {
	engine    *engine.Engine
	store     *memberstate.FileStore
	elections *grpcrpc.Transport
	server    *grpc.Server
	stop      context.CancelFunc
	sending   sync.WaitGroup
}

// ElectionsAt is where the electors and operators of a node are, given where its engine is.
func ElectionsAt(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(port, 10, 15)
	if err != nil {
		return "", fmt.Errorf("%s: the port has to be a number below 32768, because the next one is used, too", address)
	}
	return net.JoinHostPort(host, strconv.FormatUint(n+1, 10)), nil
}

// Start starts a node.
func Start(c Config) (_ *Node, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Node{stop: cancel}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop(ctx))
		}
	}()
	if n.store, err = openStore(c); err != nil {
		return nil, err
	}
	if n.elections, err = listen(c); err != nil {
		return nil, err
	}
	messages, err := newNetwork(ctx, c.Self, c.Addresses, n.sending.Go)
	if err != nil {
		return nil, err
	}
	var members []memberstate.Member
	for id := range c.Addresses {
		members = append(members, memberstate.Member{ID: id})
	}
	n.engine, err = engine.Open(engine.Config{
		Self: c.Self, Members: members, Shards: c.Shards, Timing: c.Timing, Leases: c.Leases, Hold: !c.New, Dir: data(c),
		Store: n.store, Elections: n.elections, Network: messages, Failed: c.Failed, Logger: c.Logger,
	})
	if err != nil {
		return nil, err
	}
	operator.Register(n.elections.Registrar(), n.engine.Host(), n.elections.Address)
	if err := n.serve(c.Addresses[c.Self]); err != nil {
		return nil, err
	}
	if err := n.engine.Start(); err != nil {
		return nil, err
	}
	return n, nil
}

// openStore opens the file of terms and votes, and for a new node makes it and the folder of its data. A node that has run before and
// finds either missing must not begin anew: it would have forgotten its votes, or entries that others count on.
func openStore(c Config) (*memberstate.FileStore, error) {
	path := filepath.Join(c.Dir, "votes")
	if !c.New {
		store, err := memberstate.OpenFile(path, c.Self)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, memberstate.ErrNoStore) {
			err = fmt.Errorf("%s has no data in %s; a node that has never run is new: %w", c.Self, c.Dir, err)
		}
		return store, err
	}
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // otherwise it is refused below
		if err := engine.Create(data(c), nil, c.Shards); err != nil {
			return nil, err
		}
	}
	return memberstate.CreateFile(path, c.Self)
}

// data is where the engine's data is.
func data(c Config) string { return filepath.Join(c.Dir, "data") }

// listen listens for electors and operators.
func listen(c Config) (*grpcrpc.Transport, error) {
	peers := map[string]string{}
	for id, address := range c.Addresses {
		at, err := ElectionsAt(address)
		if err != nil {
			return nil, err
		}
		peers[id] = at
	}
	own := peers[c.Self]
	delete(peers, c.Self)
	l, err := net.Listen("tcp", own)
	if err != nil {
		return nil, err
	}
	return grpcrpc.New(grpcrpc.Config{Self: c.Self, Listener: l, Peers: peers, Logger: c.Logger})
}

// serve listens for engines and clients.
func (n *Node) serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	n.server = connect.Server()
	ledgerpb.RegisterReplicationServer(n.server, replication{engine: n.engine})
	ledgerpb.RegisterStoreServer(n.server, store{engine: n.engine})
	n.sending.Go(func() { _ = n.server.Serve(l) }) // it ends with an error when it is stopped
	return nil
}

// Host is for operators in the same process.
func (n *Node) Host() *elector.Host { return n.engine.Host() }

// Stop hands over what the node leads, as long as the context allows, and ends it.
func (n *Node) Stop(ctx context.Context) (err error) {
	if n.engine != nil {
		err = n.engine.Close(ctx)
	}
	if n.server != nil {
		n.server.Stop()
	}
	n.stop()
	n.sending.Wait()
	if n.elections != nil {
		n.elections.Close()
	}
	if n.store != nil {
		err = errors.Join(err, n.store.Close())
	}
	return err
}

// store answers clients.
type store struct {
	ledgerpb.UnimplementedStoreServer
	engine *engine.Engine
}

// Do does what a client asks for.
func (s store) Do(ctx context.Context, r *ledgerpb.Request) (*ledgerpb.Reply, error) {
	return s.engine.Do(ctx, r), nil
}
