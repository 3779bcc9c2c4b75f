// A like program on hashicorp/raft, with its store in BoltDB. It speaks to clients as examples/ledger does.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator/route"
)

// hashicorpNode is the first argument of a process that is a node.
const hashicorpNode = "hashicorp-node"

// runHashicorp runs a node: raft at a port, and clients at the next one.
func runHashicorp(args []string) error {
	flags := flag.NewFlagSet(hashicorpNode, flag.ContinueOnError)
	dir := flags.String("data", "", "")
	ports := flags.String("ports", "", "")
	self := flags.Int("self", 0, "")
	detection := flags.Duration("detection", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o750); err != nil {
		return err
	}
	var servers []raft.Server
	for i, port := range strings.Split(*ports, ",") {
		servers = append(servers, raft.Server{ID: raft.ServerID(strconv.Itoa(i)), Address: raft.ServerAddress("127.0.0.1:" + port)})
	}
	own := servers[*self]
	config := raft.DefaultConfig()
	config.LocalID, config.Logger = own.ID, hclog.NewNullLogger()
	if *detection > 0 {
		config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = *detection, *detection, *detection/2
	}
	ledger, err := raftboltdb.NewBoltStore(filepath.Join(*dir, "raft.db"))
	if err != nil {
		return err
	}
	transport, err := raft.NewTCPTransport(string(own.Address), nil, 3, time.Second, io.Discard)
	if err != nil {
		return err
	}
	state := &values{all: map[string][]byte{}}
	r, err := raft.NewRaft(config, state, ledger, ledger, raft.NewDiscardSnapshotStore(), transport)
	if err != nil {
		return err
	}
	if err := r.BootstrapCluster(raft.Configuration{Servers: servers}).Error(); err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return err
	}
	return serveHashicorp(r, string(own.Address))
}

// serveHashicorp serves clients until the process is told to end, and then hands over.
func serveHashicorp(r *raft.Raft, at string) error {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n+1)))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	ledgerpb.RegisterStoreServer(server, hashicorpStore{raft: r})
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		if r.State() == raft.Leader {
			_ = r.LeadershipTransfer().Error() // the others elect if it fails
		}
		_ = r.Shutdown().Error()
		server.Stop()
	}()
	return server.Serve(l)
}

// values is the state.
type values struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (v *values) Apply(e *raft.Log) any {
	c := new(ledgerpb.Command)
	if err := proto.Unmarshal(e.Data, c); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all[string(c.GetPut().GetKey())] = c.GetPut().GetValue()
	return nil
}

// errNoSnapshots says that no run is so long that it needs one.
var errNoSnapshots = errors.New("not in this measurement")

func (*values) Snapshot() (raft.FSMSnapshot, error) { return nil, errNoSnapshots }
func (*values) Restore(io.ReadCloser) error         { return errNoSnapshots }

// hashicorpStore answers clients. A delete has it hand over, because operators have no service here.
type hashicorpStore struct {
	ledgerpb.UnimplementedStoreServer
	raft *raft.Raft
}

func (s hashicorpStore) Do(_ context.Context, r *ledgerpb.Request) (*ledgerpb.Reply, error) {
	notLeader := &ledgerpb.Reply{Says: &ledgerpb.Reply_NotLeader{NotLeader: &ledgerpb.NotLeader{}}}
	done := &ledgerpb.Reply{Says: &ledgerpb.Reply_Result{Result: &ledgerpb.Result{}}}
	switch {
	case s.knowsNoLeader():
		return nil, status.Error(codes.Unavailable, "no leader is known")
	case s.raft.State() != raft.Leader:
		return notLeader, nil
	case r.GetRead() != nil:
		return done, nil
	case r.GetCommand().GetDelete() != nil:
		return done, s.raft.LeadershipTransfer().Error()
	case r.GetCommand().GetOpen() != nil:
		return &ledgerpb.Reply{Says: &ledgerpb.Reply_Result{Result: &ledgerpb.Result{Session: 1}}}, nil
	}
	data, err := proto.Marshal(r.GetCommand())
	if err != nil {
		return nil, err
	}
	err = s.raft.Apply(data, time.Second).Error()
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return notLeader, nil
	case err != nil:
		return nil, err
	}
	return done, nil
}

func (s hashicorpStore) knowsNoLeader() bool {
	_, id := s.raft.LeaderWithID()
	return id == ""
}

// hashicorp is three nodes.
type hashicorp struct {
	conns []*grpc.ClientConn
}

func openHashicorp(o options, binary, dir string) ([]*process, store, error) {
	ports, err := freePorts(3, 2)
	if err != nil {
		return nil, nil, err
	}
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ports)), ","), "[]")
	st := &hashicorp{}
	var processes []*process
	for i, port := range ports {
		data := filepath.Join(dir, strconv.Itoa(i))
		args := []string{hashicorpNode, "-data", data, "-ports", list, "-self", strconv.Itoa(i)}
		if o.detection > 0 {
			args = append(args, "-detection", o.detection.String())
		}
		processes = append(processes, &process{binary: binary, args: args, data: data})
		conn, err := grpc.NewClient(local(port+1), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, nil, err
		}
		st.conns = append(st.conns, conn)
	}
	return processes, st, nil
}

// leader asks all processes at once, because one may hang.
func (st *hashicorp) leader(ctx context.Context) (int, error) {
	wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	leads := make(chan int, len(st.conns))
	var asked sync.WaitGroup
	for i, conn := range st.conns {
		asked.Go(func() {
			r, err := ledgerpb.NewStoreClient(conn).Do(wait, &ledgerpb.Request{Asks: &ledgerpb.Request_Read{Read: &ledgerpb.Read{}}})
			if err == nil && r.GetResult() != nil {
				leads <- i
				cancel()
			}
		})
	}
	asked.Wait()
	select {
	case n := <-leads:
		return n, nil
	default:
		return 0, errors.New("none leads")
	}
}

func (st *hashicorp) client() (func(context.Context, []byte, []byte) error, error) {
	return client.New(&guess{nodes: st}, st, 1, asksAgain).Put, nil
}

// Do asks one node.
func (st *hashicorp) Do(ctx context.Context, node string, r *ledgerpb.Request) (*ledgerpb.Reply, error) {
	n, err := strconv.Atoi(node)
	if err != nil {
		return nil, err
	}
	return ledgerpb.NewStoreClient(st.conns[n]).Do(ctx, r)
}

func (st *hashicorp) drain(ctx context.Context, process int) error {
	hand := &ledgerpb.Request{Asks: &ledgerpb.Request_Command{Command: &ledgerpb.Command{Does: &ledgerpb.Command_Delete{Delete: &ledgerpb.Delete{}}}}}
	_, err := ledgerpb.NewStoreClient(st.conns[process]).Do(ctx, hand)
	return err
}

func (st *hashicorp) ready(ctx context.Context, process int) error {
	wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err := ledgerpb.NewStoreClient(st.conns[process]).Do(wait, &ledgerpb.Request{Asks: &ledgerpb.Request_Read{Read: &ledgerpb.Read{}}})
	return err
}

func (st *hashicorp) close() {
	for _, conn := range st.conns {
		_ = conn.Close()
	}
}

// guess is a client's idea of who leads: the node that did last, and after a refusal the next one. While it waits for an answer
// it asks the others. A term counts the ideas.
type guess struct {
	nodes *hashicorp
	mu    sync.Mutex
	term  memberstate.Term
	node  int
}

func (g *guess) idea() route.Leader {
	g.mu.Lock()
	defer g.mu.Unlock()
	return route.Leader{ID: strconv.Itoa(g.node), Term: g.term}
}

func (g *guess) current() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.node
}

// changes has another node asked, if the idea is still that of a term.
func (g *guess) changes(term memberstate.Term, to int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == term {
		g.term, g.node = term+1, to%3
	}
}

// Await never waits.
func (g *guess) Await(ctx context.Context, _ string) (route.Leader, error) {
	return g.idea(), ctx.Err()
}

// AwaitNewer asks the others until one leads.
func (g *guess) AwaitNewer(ctx context.Context, _ string, term memberstate.Term) (route.Leader, error) {
	for {
		was := g.idea()
		if was.Term > term {
			return was, nil
		}
		if n, err := g.nodes.leader(ctx); err == nil && strconv.Itoa(n) != was.ID {
			g.changes(term, n)
		}
		if !sleep(ctx, 5*time.Millisecond) {
			return route.Leader{}, context.Cause(ctx)
		}
	}
}

// Refused has the next node asked.
func (g *guess) Refused(_ string, term memberstate.Term) { g.changes(term, g.current()+1) }
