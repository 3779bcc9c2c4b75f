// A member: one part in an election, by votes or by a lease, and what it does as a
// leader.

package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
)

// election is either way to elect.
type election interface {
	elector.Election
	Lease() (term memberstate.Term, until time.Time, ok bool)
}

type member struct {
	id      string // by which others know it
	name    string // by which its operator knows it
	process string
	group   string
	out     *Printer
	log     *slog.Logger
	metrics *metrics.Collector

	election election
	leases   bool          // its leaders hold leases
	every    time.Duration // how often it looks at its own
	killing  time.Duration // what is left of a lease for killing the program
	program  *program      // nil: none
	web      *web          // nil: none
}

// elects says which election it is, how often its lease is looked at, and how long it may last.
func (m *member) elects(e election, every, longest time.Duration, config Config) {
	m.election, m.every, m.killing = e, every, longest/killingPart
	if config.Exec != "" {
		m.program = &program{command: config.Exec, every: every}
	}
}

func (m *member) openWeb(address string) (err error) {
	if address != "" {
		m.web, err = serveWeb(address, m)
	}
	return err
}

func (m *member) closeWeb() error {
	if m.web == nil {
		return nil
	}
	return m.web.close()
}

// run takes part until the context ends, and tells of it. The term is the last one
// that is known.
func (m *member) run(ctx context.Context, known memberstate.Term) error {
	m.out.print(m.event("start", known))
	watching, stopWatching := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() {
		var last Event
		for s := range m.election.Watch(watching) {
			e := m.role(s)
			if s.Revision > 0 && s.Term >= known && e != last { // a contender has not looked yet
				m.out.print(e)
				last = e
			}
		}
	})
	err := m.election.Run(ctx)
	stopWatching()
	watch.Wait()
	stop := m.event("stop", m.election.Status().Term)
	if err != nil {
		stop.Error = err.Error()
	}
	m.out.print(stop)
	return err
}

func (m *member) event(kind string, term memberstate.Term) Event {
	return Event{Event: kind, Node: m.id, Process: m.process, Group: m.group, Term: term}
}

// role is what it says of a status. What it has said last it does not say again: that
// it has stopped, for example, is told otherwise.
func (m *member) role(s elector.Status) Event {
	e := m.event("role", s.Term)
	e.Role, e.Leader, e.Vote = s.Role.String(), s.Leader, s.Vote
	return e
}

// lead is what it does in office: it says so, and runs the program if there
// is one.
func (m *member) lead(ctx context.Context, term memberstate.Term) error {
	m.out.print(m.event("lead", term))
	office, leave := context.WithCancel(ctx)
	var leases sync.WaitGroup
	if m.leases {
		leases.Go(func() { m.tellLeases(office, term) })
	}
	defer func() {
		leave()
		leases.Wait()
		m.out.print(m.event("unlead", term))
	}()
	if m.program == nil {
		<-ctx.Done()
		return nil
	}
	err := m.program.run(ctx, m.environment(term), m.lease(term))
	if err != nil && ctx.Err() == nil {
		m.log.Warn("this node gives up the leadership", "term", uint64(term), "error", err)
	}
	return err
}

// tellLeases prints how far the lease of a term reaches, whenever it grows.
func (m *member) tellLeases(ctx context.Context, term memberstate.Term) {
	again := time.NewTicker(m.every)
	defer again.Stop()
	var last time.Time
	for {
		if held, end, ok := m.election.Lease(); ok && held == term && end.After(last) {
			e := m.event("lease", term)
			e.UntilNanos = until(end)
			m.out.print(e)
			last = end
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// A twentieth of a lease is for killing the program. A watchdog may have to wait for a
// processor, and what a lease is shorter here than elsewhere is for clocks that differ.
const killingPart = 20

// lease tells how long the program may run under the lease of a term, by the shared clock:
// false if this node holds none any more. Without leases there is no limit.
func (m *member) lease(term memberstate.Term) func() (int64, bool) {
	return func() (int64, bool) {
		if !m.leases {
			return 0, true
		}
		held, end, ok := m.election.Lease()
		return until(end.Add(-m.killing)), ok && held == term
	}
}

// environment is what the program is told.
func (m *member) environment(term memberstate.Term) []string {
	return []string{
		"HUSTINGS_NODE=" + m.name,
		"HUSTINGS_GROUP=" + m.group,
		fmt.Sprintf("HUSTINGS_TERM=%d", term),
	}
}
