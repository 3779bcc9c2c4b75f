// A contender: a member that contends for a lease in a database.

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// runContender runs a contender until the context ends; if it leads it releases the
// lease first.
func runContender(ctx context.Context, config Config, m *member) (err error) {
	db, err := database.Open(config.Lease, database.ForCandidates)
	if err != nil {
		return ConfigError{fmt.Errorf("--lease: %w", err)}
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	m.group, m.leases = config.Name, true
	timing, figures := leaseTiming(config.TTL), m.metrics.Elector()
	el, err := lease.New(lease.KeeperConfig{
		Self: config.Node, Store: contended{db.Store, m, figures}, Waker: db.Waker,
		Timing: timing, Strict: config.Strict, Logger: m.log,
	}, lease.GroupConfig{Name: config.Name, Lead: m.lead, Handlers: []elector.RoleHandler{counted{figures}}})
	if err != nil {
		return config.inFlags(err)
	}
	m.id = el.Status().Self
	m.process = strings.TrimPrefix(m.id, config.Node+"#")
	m.elects(el, timing.Renew/4, timing.TTL, config)
	if m.program != nil {
		m.program.graceful = true
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
	return m.run(ctx, known)
}

// The TTLs that can be had: with shorter ones the margin for drift would be less than
// the least, with longer ones their end would be no date.
const shortestTTL, longestTTL = 100 * time.Millisecond, 365 * 24 * time.Hour

// leaseTiming is the default one at the pace of a TTL; zero is the default. A long TTL
// is no reason to look seldom, or to wait long for an answer.
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
// known term of the lease. A database that must not keep leases is not waited for.
func (m *member) reach(ctx context.Context, db *database.Database) (known memberstate.Term, err error) {
	const shortest, longest = 250 * time.Millisecond, 8 * time.Second
	for wait := shortest; ; wait = min(2*wait, longest) {
		known, err := m.prepare(ctx, db)
		var unfit database.UnfitError
		if err == nil || ctx.Err() != nil || errors.As(err, &unfit) {
			return known, err
		}
		m.log.Warn("the database of the lease cannot be used; trying again", "lease", db.Name, "error", database.Reason(err), "in", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
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

// counted counts changes. It is an elector.RoleHandler.
type counted struct{ figures *elector.Metrics }

func (counted) Startup()                  {}
func (c counted) Handle(s elector.Status) { c.figures.Changed(s) }
func (counted) Shutdown()                 {}

// contended is the database as a member uses it that contends for a lease in it. It is
// counted as the quorum: it answers when it renews.
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
