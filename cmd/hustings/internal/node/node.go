// A node: a member that votes, with its store and its transport.

package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Run runs a node until the context ends, and then takes it out of service: it drains first, and
// a leader of a lease releases it.
func Run(ctx context.Context, config Config, out *Printer, log *slog.Logger) error {
	if err := config.check(); err != nil {
		return ConfigError{err}
	}
	m := member{
		group: config.Group, name: config.Node, out: out, log: log.With("node", config.Node), metrics: metrics.New(metrics.PerGroup()),
	}
	m.ability = newAbility(&config, m.log)
	service, err := newService()
	if err != nil {
		return err
	}
	defer service.close()
	m.service = service
	if config.Lease != "" {
		return runContender(ctx, config, &m)
	}
	return runNode(ctx, config, m)
}

func runNode(ctx context.Context, config Config, m member) (err error) {
	n := &node{member: m, config: config}
	n.id, n.process, n.leases = config.Node, newProcess(), config.Leases
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(); err != nil {
		return err
	}
	if n.store == nil {
		if err := n.found(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	kept, _, err := n.store.Load(config.Group)
	if err != nil {
		return err
	}
	leads, cancel := n.untilOutOfService(ctx)
	defer cancel()
	return n.followed(func() error { return n.run(leads, kept.Term) })
}

// node is a member that votes.
type node struct {
	member
	config    Config
	files     memberstate.FileOptions
	store     *memberstate.FileStore // nil until it is made
	met       *acquaintances
	transport *grpcrpc.Transport
	health    *healthService
	detection time.Duration // the others take a leader for dead that is silent for so long
}

// followed runs something, and meanwhile says how the node is. It goes on while the node drains, when others want to know most.
func (n *node) followed(run func() error) error {
	watching, stopWatching := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { n.health.follow(watching, &n.member) })
	following.Go(func() { n.service.follow(watching, &n.member, n.loops) })
	defer following.Wait()
	defer stopWatching()
	return run()
}

// loops returns nil when the host's loop has answered a question.
func (n *node) loops(ctx context.Context) error {
	_, err := n.host.Nodes(ctx)
	return err
}

// endProgram asks the program to end before the leader resigns. A handover would, too, but perhaps no voter can take over.
func (n *node) endProgram(string) {
	if n.program != nil {
		n.program.end(n.detection)
	}
}

func newProcess() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// StorePath returns the path of a node's store.
func StorePath(data, node string) string { return filepath.Join(data, node+".store") }

func (n *node) open() error {
	if err := n.openStore(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", n.config.Listen)
	if err != nil {
		return err
	}
	if problem := n.config.reachable(l.Addr()); problem != nil {
		return errors.Join(problem, l.Close())
	}
	n.transport, err = grpcrpc.New(grpcrpc.Config{
		Self: n.config.Node, Listener: l, Peers: n.config.peers(),
		TLS: n.config.tls(), TrustNetwork: n.config.TrustNetwork, Logger: n.log, Knows: n.met.answer,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	n.metrics.Watch(n.transport)
	host, err := elector.NewHost(n.hostConfig())
	if err != nil {
		return err
	}
	operator.Register(n.transport.Registrar(), host, n.transport.Address, operator.BeforeResign(n.endProgram))
	n.host, n.health = host, newHealthService()
	grpc_health_v1.RegisterHealthServer(n.transport.Registrar(), n.health)
	timing, err := n.config.timing()
	if err != nil {
		return err
	}
	n.detection = timing.Detection()
	el, err := host.Join(n.groupConfig(timing))
	if err != nil {
		return n.config.inFlags(err)
	}
	n.elects(el, timing.Heartbeat/2, timing.Detection(), n.config)
	return n.openWeb(n.config.HTTP)
}

// hostConfig describes the node. It exchanges beats, although it has one group: they say that it drains, and that it
// serves again.
func (n *node) hostConfig() elector.HostConfig {
	c := elector.HostConfig{
		Self: n.config.Node, Store: lateStore{n}, Transport: introducing{n.transport, n.met}, Logger: n.log, Metrics: n.metrics.Elector(),
	}
	if n.ability != nil {
		c.Stalled = n.stalled
	}
	return c
}

// stalled names the group while this node is not able to lead. The host asks for all groups at once, because one that
// had to vouch for itself (GroupConfig.Vouch) would take no part in beats.
func (n *node) stalled(ctx context.Context) []string {
	if n.ability.healthy(ctx) != nil {
		return []string{n.config.Group}
	}
	return nil
}

func (n *node) groupConfig(timing elector.Timing) elector.GroupConfig {
	return elector.GroupConfig{
		Group: n.config.Group, Members: n.config.members(), Timing: timing,
		Leases: n.config.Leases, Preferred: n.config.Preferred,
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} }, // there is no ledger
		Lead:      n.lead,
		Pause:     n.pause,
	}
}

func (n *node) close() error {
	err := n.closeWeb()
	if n.transport != nil {
		n.transport.Close()
	}
	if n.store != nil {
		err = errors.Join(err, n.store.Close())
	}
	return err
}

// pause is called before a handover. When it returns, another node may lead.
func (n *node) pause(ctx context.Context, term memberstate.Term) error {
	if n.program != nil {
		if err := n.pauseProgram(ctx, term); err != nil {
			return err
		}
	}
	n.out.print(n.event("handover", term))
	return nil
}

// pauseProgram asks the program to end, and waits until it has. A program that hangs might never end, and then
// the leader would have to hand over without having paused it. So if this node is not able to lead, it kills
// its program in time.
func (n *node) pauseProgram(ctx context.Context, term memberstate.Term) error {
	if !n.ability.unable() {
		return n.program.pause(ctx, term)
	}
	brief, cancel := context.WithTimeout(ctx, n.detection/2)
	defer cancel()
	if n.program.pause(brief, term) != nil {
		n.program.kill()
	}
	return nil
}
