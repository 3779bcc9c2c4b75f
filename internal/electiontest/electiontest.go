// Package electiontest is the acceptance test for every kind of elector.Election, so that
// code written for one kind works with the others.
package electiontest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Member is the part of a member's configuration that a test chooses.
type Member struct {
	Lead    func(ctx context.Context, term memberstate.Term) error
	Handler elector.RoleHandler
}

// Make makes the elections of a group of these members. It is called in a bubble of
// testing/synctest.
type Make func(t *testing.T, members []Member) []elector.Election

// patience is longer than any election takes, in virtual time.
const patience = time.Minute

// Run checks that elections keep the contract.
func Run(t *testing.T, elections Make) {
	t.Helper()
	tests := map[string]func(*stage){
		"one leads and all know it":                   (*stage).oneLeads,
		"before Run a member has no role":             (*stage).beforeItRuns,
		"it runs once":                                (*stage).itRunsOnce,
		"another leads after a resignation":           (*stage).anotherLeads,
		"only a leader can resign":                    (*stage).onlyALeaderResigns,
		"a lead that returns resigns":                 (*stage).leadThatReturns,
		"a leader that stops hands over first":        (*stage).stopHandsOver,
		"run returns after lead has":                  (*stage).runWaitsForLead,
		"a watcher sees the latest and the last":      (*stage).watcherSeesTheLast,
		"handlers receive changes and are shut down":  (*stage).handlersReceiveChanges,
		"a handler that hangs delays nothing":         (*stage).hangingHandler,
		"terms are led once, in order, one at a time": (*stage).termsAreLedOnce,
		"a resignation may be abandoned":              (*stage).abandonedResignation,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(&stage{t: t, elections: elections})
			})
		})
	}
}

// stage is one test's group.
type stage struct {
	t         *testing.T
	elections Make
	members   []*member

	mu      sync.Mutex
	offices []memberstate.Term // the terms of all calls of Lead, in order
}

// member is one member of the group.
type member struct {
	elector.Election
	stage   *stage
	serving bool
	stop    context.CancelFunc
	ended   chan struct{}
	err     error
}

// open runs a group of three and returns when it has a leader.
func (s *stage) open(change func(i int, m *Member)) *member {
	s.t.Helper()
	s.make(change)
	for _, m := range s.members {
		m.run()
	}
	return s.leader(nil)
}

func (s *stage) make(change func(i int, m *Member)) {
	s.t.Helper()
	config := make([]Member, 3)
	for i := range config {
		m := &member{stage: s, ended: make(chan struct{})}
		s.members = append(s.members, m)
		config[i].Lead = m.lead
		if change != nil {
			change(i, &config[i])
		}
	}
	for i, e := range s.elections(s.t, config) {
		s.members[i].Election = e
	}
}

func (m *member) run() {
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() {
		defer close(m.ended)
		m.err = m.Run(ctx)
	}()
}

// end stops a member and checks its last status.
func (m *member) end() {
	m.stage.t.Helper()
	m.stop()
	<-m.ended
	assert.NoError(m.stage.t, m.err)
	assert.True(m.stage.t, m.Status().Stopped)
	assert.NotEqual(m.stage.t, memberstate.Leader, m.Status().Role)
	assert.False(m.stage.t, m.serving, "its Lead outlives Run")
}

func (s *stage) close() {
	s.t.Helper()
	for _, m := range s.members {
		m.end()
	}
}

// lead is the Lead of a member, unless a test wants another one.
func (m *member) lead(ctx context.Context, term memberstate.Term) error {
	m.enter(term)
	<-ctx.Done()
	m.leave()
	return nil
}

func (m *member) enter(term memberstate.Term) {
	s := m.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.False(s.t, m.serving, "two Leads of one member at once")
	m.serving = true
	s.offices = append(s.offices, term)
}

func (m *member) leave() {
	m.stage.mu.Lock()
	defer m.stage.mu.Unlock()
	m.serving = false
}

// leader waits until a member other than this one leads, and all running members follow it.
func (s *stage) leader(not *member) *member {
	s.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; s.pass(10 * time.Millisecond) {
		for _, m := range s.members {
			if m != not && s.leads(m) {
				return m
			}
		}
	}
	require.Fail(s.t, "no member leads")
	return nil
}

func (s *stage) leads(leader *member) bool {
	l := leader.Status()
	for _, m := range s.members {
		st := m.Status()
		if m != leader && !st.Stopped && (st.Role != memberstate.Follower || st.Term != l.Term || st.Leader != l.Self) {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.Role == memberstate.Leader && l.Leader == l.Self && leader.serving
}

// pass lets virtual time pass.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (s *stage) oneLeads() {
	leader := s.open(nil)
	defer s.close()
	s.pass(patience)
	assert.Equal(s.t, leader, s.leader(nil), "it changed for no reason")
	assert.Len(s.t, s.offices, 1)
	assert.Equal(s.t, s.offices[0], leader.Status().Term)
	assert.NotEmpty(s.t, leader.Status().Self)
	assert.Equal(s.t, leader.Status().Group, s.members[0].Status().Group)
}

func (s *stage) beforeItRuns() {
	s.make(nil)
	for _, m := range s.members {
		assert.NotEqual(s.t, memberstate.Leader, m.Status().Role)
		assert.Zero(s.t, m.Status().Revision)
		assert.ErrorIs(s.t, m.Resign(context.Background()), elector.ErrStopped)
	}
}

func (s *stage) itRunsOnce() {
	leader := s.open(nil)
	assert.ErrorIs(s.t, leader.Run(context.Background()), elector.ErrStopped)
	s.close()
	assert.ErrorIs(s.t, leader.Run(context.Background()), elector.ErrStopped)
	assert.ErrorIs(s.t, leader.Resign(context.Background()), elector.ErrStopped)
}

func (s *stage) anotherLeads() {
	first := s.open(nil)
	defer s.close()
	term := first.Status().Term
	require.NoError(s.t, first.Resign(context.Background()))
	assert.NotEqual(s.t, elector.Status{Role: memberstate.Leader, Term: term}, elector.Status{Role: first.Status().Role, Term: first.Status().Term})
	second := s.leader(first)
	assert.Greater(s.t, second.Status().Term, term)
}

func (s *stage) onlyALeaderResigns() {
	leader := s.open(nil)
	defer s.close()
	for _, m := range s.members {
		if m != leader {
			assert.ErrorIs(s.t, m.Resign(context.Background()), elector.ErrNotLeader)
		}
	}
	assert.Equal(s.t, leader, s.leader(nil))
}

func (s *stage) leadThatReturns() {
	broken := errors.New("no disk to write to")
	tried := 0
	s.open(func(i int, m *Member) {
		if i != 0 {
			return
		}
		m.Lead = func(context.Context, memberstate.Term) error {
			tried++
			return broken
		}
	})
	defer s.close()
	for leader := s.leader(nil); tried == 0; leader = s.leader(nil) {
		require.NoError(s.t, leader.Resign(context.Background()))
		s.pass(time.Second)
	}
	s.pass(patience)
	assert.NotEqual(s.t, s.members[0], s.leader(nil))
}

func (s *stage) stopHandsOver() {
	first := s.open(nil)
	defer s.close()
	first.end()
	assert.NotEqual(s.t, first, s.leader(first))
}

// openSlow opens a stage whose first leader does not return from Lead before hold is
// closed.
func (s *stage) openSlow() (first *member, hold chan struct{}) {
	var slow *member
	hold = make(chan struct{})
	first = s.open(func(i int, m *Member) {
		me := s.members[i]
		m.Lead = func(ctx context.Context, term memberstate.Term) error {
			me.enter(term)
			defer me.leave()
			<-ctx.Done()
			if me == slow {
				<-hold
			}
			return nil
		}
	})
	slow = first
	return first, hold
}

func (s *stage) runWaitsForLead() {
	first, hold := s.openSlow()
	defer s.close()
	first.stop()
	s.pass(patience)
	select {
	case <-first.ended:
		assert.Fail(s.t, "Run has returned, and Lead has not")
	default:
	}
	s.leader(first)
	close(hold)
	first.end()
}

func (s *stage) watcherSeesTheLast() {
	first := s.open(nil)
	seen := make(chan elector.Status, 1)
	go func() {
		var last elector.Status
		for st := range first.Watch(context.Background()) {
			assert.Greater(s.t, st.Revision, last.Revision)
			last = st
			<-time.After(3 * time.Second) // a slow watcher skips changes
			synctest.Wait()
		}
		seen <- last
	}()
	require.NoError(s.t, first.Resign(context.Background()))
	s.leader(first)
	s.close()
	last := <-seen
	assert.True(s.t, last.Stopped)
	assert.Equal(s.t, first.Status(), last)
}

// recorder is a handler that records its calls.
type recorder struct {
	mu             sync.Mutex
	started, ended int
	statuses       []elector.Status
	hang           chan struct{} // Handle waits for it, if not nil
}

func (d *recorder) Startup() { d.started++ }

func (d *recorder) Handle(st elector.Status) {
	d.mu.Lock()
	d.statuses = append(d.statuses, st)
	d.mu.Unlock()
	if d.hang != nil {
		<-d.hang
	}
}

func (d *recorder) Shutdown() {
	<-time.After(time.Second) // Run waits for it
	d.ended++
}

func (s *stage) handlersReceiveChanges() {
	recorders := []*recorder{{}, {}, {}}
	leader := s.open(func(i int, m *Member) { m.Handler = recorders[i] })
	s.pass(time.Second)
	for i, d := range recorders {
		d.mu.Lock()
		require.NotEmpty(s.t, d.statuses)
		assert.Equal(s.t, s.members[i].Status(), d.statuses[len(d.statuses)-1])
		assert.Equal(s.t, leader.Status().Self, d.statuses[len(d.statuses)-1].Leader)
		d.mu.Unlock()
	}
	s.close()
	for _, d := range recorders {
		assert.Equal(s.t, 1, d.started)
		assert.Equal(s.t, 1, d.ended)
		assert.True(s.t, d.statuses[len(d.statuses)-1].Stopped)
	}
}

func (s *stage) hangingHandler() {
	hang := make(chan struct{})
	first := s.open(func(_ int, m *Member) { m.Handler = &recorder{hang: hang} })
	s.pass(patience)
	assert.Equal(s.t, first, s.leader(nil), "a handler that hangs cost the leader its office")
	require.NoError(s.t, first.Resign(context.Background()))
	s.leader(first)
	close(hang)
	s.close()
}

func (s *stage) termsAreLedOnce() {
	s.open(nil)
	for range 10 {
		leader := s.leader(nil)
		require.NoError(s.t, leader.Resign(context.Background()))
		s.pass(time.Second)
	}
	s.leader(nil)
	s.close()
	for i := 1; i < len(s.offices); i++ {
		assert.Less(s.t, s.offices[i-1], s.offices[i])
	}
	assert.GreaterOrEqual(s.t, len(s.offices), 11)
}

func (s *stage) abandonedResignation() {
	first, hold := s.openSlow()
	defer s.close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := first.Resign(ctx)
	if err != nil {
		assert.ErrorIs(s.t, err, context.Canceled)
	}
	close(hold)
	s.leader(nil)
}
