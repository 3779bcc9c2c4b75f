// A node: its store, its transport, its elector, and what it does as a leader.

package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Run runs a node until the context ends, and then takes it out of service: if it
// leads it hands over first.
func Run(ctx context.Context, config Config, out *Printer, log *slog.Logger) (err error) {
	if err := config.check(); err != nil {
		return err
	}
	n := &node{config: config, out: out, log: log.With("node", config.Node), process: newProcess(), metrics: metrics.New()}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(); err != nil {
		return err
	}
	kept, _, err := n.store.Load(config.Group)
	if err != nil {
		return err
	}
	n.out.print(n.event("start", kept.Term))
	watching, stopWatching := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() {
		for s := range n.elector.Watch(watching) {
			if s.Revision > 0 {
				n.tell(s)
			}
		}
	})
	err = n.elector.Run(ctx)
	stopWatching()
	watch.Wait()
	stop := n.event("stop", n.elector.Status().Term)
	if err != nil {
		stop.Error = err.Error()
	}
	n.out.print(stop)
	return err
}

// node is what Run has opened.
type node struct {
	config    Config
	out       *Printer
	log       *slog.Logger
	process   string
	metrics   *metrics.Collector
	store     *memberstate.FileStore
	transport *grpcrpc.Transport
	web       *web
	elector   *elector.Elector
	program   *program
}

func newProcess() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// StorePath is where a node keeps its store.
func StorePath(data, node string) string { return filepath.Join(data, node+".store") }

func (n *node) open() error {
	if err := n.openStore(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", n.config.Listen)
	if err != nil {
		return err
	}
	n.transport, err = grpcrpc.New(grpcrpc.Config{
		Self: n.config.Node, Listener: l, Peers: n.config.peers(),
		TLS: n.config.tls(), TrustNetwork: n.config.TrustNetwork, Logger: n.log,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	n.metrics.Watch(n.transport)
	host, err := elector.NewHost(elector.HostConfig{
		Self: n.config.Node, Store: n.store, Transport: n.transport, Logger: n.log, Metrics: n.metrics.Elector(),
	})
	if err != nil {
		return err
	}
	operator.Register(n.transport.Registrar(), host, n.transport.Address)
	grpc_health_v1.RegisterHealthServer(n.transport.Registrar(), health.NewServer())
	timing, err := n.config.timing()
	if err != nil {
		return err
	}
	group := elector.Config{
		Group: n.config.Group, Members: n.config.members(), Timing: timing,
		Leases: n.config.Leases, Preferred: n.config.Preferred,
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} }, // there is no ledger
		Lead:      n.lead,
		Pause:     n.pause,
	}
	if n.config.Exec != "" {
		n.program = &program{command: n.config.Exec, every: timing.Heartbeat / 2}
	}
	if n.elector, err = host.Join(group); err != nil {
		return err
	}
	if n.config.HTTP != "" {
		n.web, err = serveWeb(n.config.HTTP, n)
	}
	return err
}

func (n *node) openStore() (err error) {
	path := StorePath(n.config.Data, n.config.Node)
	disk := n.metrics.Disk(memberstate.OSDisk())
	if n.config.New {
		if err = makeDir(n.config.Data); err == nil {
			n.store, err = memberstate.CreateFileOn(disk, path, n.config.Node)
		}
		if errors.Is(err, memberstate.ErrStoreExists) {
			err = fmt.Errorf("%w (leave out --new)", err)
		}
		return err
	}
	n.store, err = memberstate.OpenFileOn(disk, path, n.config.Node)
	if errors.Is(err, memberstate.ErrNoStore) {
		err = fmt.Errorf("%w (say --new if this node has never run before)", err)
	}
	return err
}

func (n *node) close() error {
	var err error
	if n.web != nil {
		err = n.web.close()
	}
	if n.transport != nil {
		n.transport.Close()
	}
	if n.store != nil {
		err = errors.Join(err, n.store.Close())
	}
	return err
}

// lead is what this node does in office: it says so, and runs the program if there
// is one.
func (n *node) lead(ctx context.Context, term memberstate.Term) error {
	n.out.print(n.event("lead", term))
	office, leave := context.WithCancel(ctx)
	var leases sync.WaitGroup
	if n.config.Leases {
		leases.Go(func() { n.tellLeases(office, term) })
	}
	defer func() {
		leave()
		leases.Wait()
		n.out.print(n.event("unlead", term))
	}()
	if n.program == nil {
		<-ctx.Done()
		return nil
	}
	err := n.program.run(ctx, n.environment(term), n.lease(term))
	if err != nil && ctx.Err() == nil {
		n.log.Warn("this node gives up the leadership", "term", uint64(term), "error", err)
	}
	return err
}

// pause comes before a handover: from here on another node may lead.
func (n *node) pause(ctx context.Context, term memberstate.Term) error {
	if n.program != nil {
		if err := n.program.pause(ctx); err != nil {
			return err
		}
	}
	n.out.print(n.event("handover", term))
	return nil
}

// tellLeases prints how far the lease of a term reaches, whenever it grows.
func (n *node) tellLeases(ctx context.Context, term memberstate.Term) {
	timing, _ := n.config.timing() // it was checked
	again := time.NewTicker(timing.Heartbeat / 2)
	defer again.Stop()
	var last time.Time
	for {
		if held, end, ok := n.elector.Lease(); ok && held == term && end.After(last) {
			e := n.event("lease", term)
			e.UntilNanos = until(end)
			n.out.print(e)
			last = end
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// lease tells how far the lease of a term reaches, by the shared clock: false if it
// holds none any more. Without leases there is no limit.
func (n *node) lease(term memberstate.Term) func() (int64, bool) {
	return func() (int64, bool) {
		if !n.config.Leases {
			return 0, true
		}
		held, end, ok := n.elector.Lease()
		return until(end), ok && held == term
	}
}

// environment is what the program is told.
func (n *node) environment(term memberstate.Term) []string {
	return []string{
		"HUSTINGS_NODE=" + n.config.Node,
		"HUSTINGS_GROUP=" + n.config.Group,
		fmt.Sprintf("HUSTINGS_TERM=%d", term),
	}
}
