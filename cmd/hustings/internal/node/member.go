// A member of an election, by votes or by a lease, and its work as a leader.

package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
)

// election is an election by votes or by a lease.
type election interface {
	elector.Election
	Lease() (term memberstate.Term, until time.Time, ok bool)
}

type member struct {
	id      string // known to the other members
	name    string // known to its operator
	process string
	group   string
	out     *Printer
	log     *slog.Logger
	metrics *metrics.Collector

	election election
	host     *elector.Host // nil: it contends for a lease
	leases   bool          // leaders hold leases
	every    time.Duration // interval at which it checks its own lease
	killing  time.Duration // the part of a lease that is reserved for killing the program
	program  *program      // nil: none
	ability  *ability      // nil: nothing vouches for the program
	web      *web          // nil: none
	service  *service      // nil: none
}

// elects sets the election, the interval at which its lease is checked, and the longest lease.
func (m *member) elects(e election, every, longest time.Duration, config Config) {
	m.election, m.every, m.killing = e, every, longest/killingPart
	if config.Exec != "" {
		m.program = &program{command: config.Exec, every: every, ability: m.ability, log: m.log}
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

// run takes part until the context ends, and prints every change. known is the last known
// term.
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
	if m.ability != nil && m.ability.command != "" {
		watch.Go(func() { m.ability.check(watching, m.environment) })
	}
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

// role returns the event for a status. run prints it only if it differs from the last one;
// a status that differs only in Stopped, for example, has an event of its own.
func (m *member) role(s elector.Status) Event {
	e := m.event("role", s.Term)
	e.Role, e.Leader, e.Vote = s.Role.String(), s.Leader, s.Vote
	if s.Inability != protocol.Able {
		e.Inability = s.Inability.String()
	}
	return e
}

// lead is called in office: it prints that, and runs the program if there is one.
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
	err := m.program.run(ctx, term, m.environment(fmt.Sprint(uint64(term))), m.lease(term))
	if err != nil && ctx.Err() == nil {
		m.log.Warn("this node gives up the leadership", "term", uint64(term), "error", err)
	}
	return err
}

// tellLeases prints the end of a term's lease whenever it moves.
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

// A twentieth of a lease is reserved for killing the program, because a watchdog may have to
// wait for a processor. The drift margin of the lease does not serve for that: it covers
// differences between clocks.
const killingPart = 20

// lease returns a function that says until when the program may run under the lease of a
// term, by the shared clock; false if this node no longer holds it. Without leases the limit
// is 0, for none.
func (m *member) lease(term memberstate.Term) func() (int64, bool) {
	return func() (int64, bool) {
		if !m.leases {
			return 0, true
		}
		held, end, ok := m.election.Lease()
		return until(end.Add(-m.killing)), ok && held == term
	}
}

// environment returns the environment variables of a term's program, or, without a term, of a command that
// runs beside none.
func (m *member) environment(term string) []string {
	return []string{
		"HUSTINGS_NODE=" + m.name,
		"HUSTINGS_GROUP=" + m.group,
		"HUSTINGS_TERM=" + term,
	}
}
