// A contender: a member that contends for a lease in a database.

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/backoff"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// runContender runs a contender until the context ends; a leader releases the lease first.
func runContender(ctx context.Context, config Config, m *member) (err error) {
	db, err := database.Open(config.Lease, database.ForCandidates)
	if err != nil {
		return ConfigError{fmt.Errorf("--lease: %w", err)}
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := m.contend(config, db); err != nil {
		return config.inFlags(err)
	}
	if err := m.openWeb(config.HTTP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.closeWeb()) }()
	known, err := m.reach(ctx, db)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("--lease %s: %w", db.Name, err)
	}
	stop := context.AfterFunc(ctx, func() { m.service.stop(m, m.killing*killingPart+2*patience) })
	defer stop()
	watching, stopWatching := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { m.service.follow(watching, m, m.steps) })
	defer following.Wait()
	defer stopWatching()
	return m.run(ctx, known)
}

// steps returns nil when the keeper of the lease has answered an order. This one changes nothing, because nobody can tell a candidate of serve
// that it is not to lead. One that is about to stop refuses it, and is at work all the same: its program may use the rest of the lease.
func (m *member) steps(context.Context) error {
	_ = m.election.(*lease.Elector).Electable(true)
	return nil
}

// contend joins the election by the lease.
func (m *member) contend(config Config, db *database.Database) error {
	m.group, m.leases = config.Name, true
	keeper, figures := m.keeper(config, db), m.metrics.Elector()
	group := lease.GroupConfig{Name: config.Name, Lead: m.lead, Handlers: []elector.RoleHandler{counted{figures}}}
	if m.ability != nil {
		group.Vouch, group.Healthy = m.ability.counts, m.ability.healthy
	}
	el, err := lease.New(keeper, group)
	if err != nil {
		return err
	}
	m.id = el.Status().Self
	m.process = strings.TrimPrefix(m.id, config.Node+"#")
	m.elects(el, keeper.Timing.Renew/4, keeper.Timing.TTL, config)
	if m.program != nil {
		m.program.graceful = true
	}
	return nil
}

// keeper returns the configuration of the keeper of the lease.
func (m *member) keeper(config Config, db *database.Database) lease.KeeperConfig {
	return lease.KeeperConfig{
		Self: config.Node, Store: contended{db.Store, m, m.metrics.Elector()}, Waker: db.Waker,
		Timing: leaseTiming(config.TTL), Strict: config.Strict, Logger: m.log,
	}
}

// The bounds of a TTL: a shorter one would have less than the smallest margin for drift, a
// longer one could not be represented as a date.
const shortestTTL, longestTTL = 100 * time.Millisecond, 365 * 24 * time.Hour

// leaseTiming scales the default timing to a TTL; zero is the default TTL. Poll and Timeout
// do not grow with a long TTL, so that a candidate still polls often and a lost answer is
// noticed soon.
func leaseTiming(ttl time.Duration) lease.Timing {
	t := lease.DefaultTiming()
	if ttl == 0 {
		return t
	}
	part := func(of time.Duration) time.Duration {
		return time.Duration(float64(ttl) * (float64(of) / float64(t.TTL)))
	}
	return lease.Timing{
		TTL: ttl, Renew: part(t.Renew), Poll: min(part(t.Poll), t.Poll),
		Timeout: min(part(t.Timeout), t.Timeout), DriftMargin: part(t.DriftMargin),
	}
}

// reach waits until the database is ready, or the context has ended, and returns the last
// known term of the lease. It does not wait for an unfit database.
func (m *member) reach(ctx context.Context, db *database.Database) (known memberstate.Term, err error) {
	for waits := (backoff.Waits{Shortest: 250 * time.Millisecond, Longest: 8 * time.Second}); ; {
		known, err := m.prepare(ctx, db)
		var unfit database.UnfitError
		if err == nil || ctx.Err() != nil || errors.As(err, &unfit) {
			return known, err
		}
		m.log.Warn("the database of the lease cannot be used; retrying", "lease", db.Name, "error", database.Reason(err), "in", waits.Next())
		if err := waits.Wait(ctx); err != nil {
			return 0, err
		}
	}
}

func (m *member) prepare(ctx context.Context, db *database.Database) (memberstate.Term, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := db.Prepare(ctx); err != nil {
		return 0, err
	}
	found, err := db.Store.Read(ctx, []string{m.group})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Term, nil
}

// counted is an elector.RoleHandler that counts changes.
type counted struct{ figures *elector.Metrics }

func (counted) Startup()                  {}
func (c counted) Handle(s elector.Status) { c.figures.Changed(s) }
func (counted) Shutdown()                 {}

// contended is the store of a member that contends for a lease. For metrics the database is
// the quorum: every renewal counts as its answer.
type contended struct {
	lease.Store
	member  *member
	figures *elector.Metrics
}

func (s contended) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	began := time.Now()
	kept, err := s.Store.Renew(ctx, holder, held)
	if err == nil {
		s.figures.QuorumHeard(s.member.group, time.Since(began))
	}
	return kept, err
}
