package node

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
)

// The keeper of a contender has the timing and the strictness of the configuration, and claims
// nothing while the contender stands back.
func TestAContendersKeeperIsConfigured(t *testing.T) {
	m := &member{metrics: metrics.New(), log: slog.New(slog.DiscardHandler)}
	waker := struct{ lease.Waker }{}
	for _, strict := range []bool{false, true} {
		c := m.keeper(Config{Node: "n", TTL: 2 * time.Second, Strict: strict}, &database.Database{Waker: waker})
		assert.Equal(t, strict, c.Strict)
		assert.Equal(t, leaseTiming(2*time.Second), c.Timing)
		assert.Equal(t, "n", c.Self)
		assert.Equal(t, waker, c.Waker)
		assert.IsType(t, contended{}, c.Store)
	}
}

// A contender's program may run until the lease ends, less the time that killing it takes.
func TestAContendersProgramHasTheDeadlineOfItsLease(t *testing.T) {
	db, err := database.Open("sqlite:"+filepath.Join(t.TempDir(), "leases.db"), database.ForCandidates)
	require.NoError(t, err)
	m := &member{metrics: metrics.New(), log: slog.New(slog.DiscardHandler)}
	require.NoError(t, m.contend(Config{Node: "n", Lease: "sqlite", Name: "jobs", TTL: 2 * time.Second, Exec: "true"}, db))
	assert.True(t, m.leases)
	assert.True(t, m.program.graceful)
	assert.Equal(t, 100*time.Millisecond, m.killing)
	assert.Equal(t, leaseTiming(2*time.Second).Renew/4, m.program.every)
	assert.Equal(t, m.id, "n#"+m.process)
	assert.Greater(t, len(m.process), 10, "it tells two processes apart")
	require.NoError(t, db.Close())
}

// All parts of a timing shrink with the TTL. With a longer one only those grow that must.
func TestATimingIsScaledToItsTTL(t *testing.T) {
	d := lease.DefaultTiming()
	assert.Equal(t, d, leaseTiming(0))
	assert.Equal(t, d, leaseTiming(d.TTL))
	assert.Equal(t, lease.Timing{TTL: d.TTL / 10, Renew: d.Renew / 10, Poll: d.Poll / 10, Timeout: d.Timeout / 10, DriftMargin: d.DriftMargin / 10}, leaseTiming(d.TTL/10))
	assert.Equal(t, lease.Timing{TTL: 3 * d.TTL, Renew: 3 * d.Renew, Poll: d.Poll, Timeout: d.Timeout, DriftMargin: 3 * d.DriftMargin}, leaseTiming(3*d.TTL))
	for _, ttl := range []time.Duration{shortestTTL, longestTTL} {
		_, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: contended{}, Timing: leaseTiming(ttl)})
		assert.NoError(t, err)
	}
}

// broken is a store that fails, or hangs, a number of times.
type broken struct {
	database.Store
	hangs bool
	fails int
	asked []time.Duration // when it was asked
	began time.Time
}

func (b *broken) Read(ctx context.Context, _ []string) ([]lease.Record, error) {
	b.asked = append(b.asked, time.Since(b.began))
	if b.fails--; b.fails < 0 {
		return []lease.Record{{Name: "jobs", Term: 7}}, nil
	}
	if b.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, errors.New("it is down")
}

// A node tries a database that fails or hangs ever more rarely, and learns the last term as soon
// as it works.
func TestADatabaseIsTriedEverMoreRarely(t *testing.T) {
	for hangs, each := range map[bool]time.Duration{false: 0, true: patience} {
		synctest.Test(t, func(t *testing.T) {
			store := &broken{hangs: hangs, fails: 8, began: time.Now()}
			m := &member{group: "jobs", log: slog.New(slog.DiscardHandler)}
			known, err := m.reach(t.Context(), &database.Database{Store: store})
			require.NoError(t, err)
			assert.Equal(t, memberstate.Term(7), known)
			var waits []time.Duration
			for i := range store.asked[1:] {
				waits = append(waits, store.asked[i+1]-store.asked[i]-each)
			}
			const ms = time.Millisecond
			assert.Equal(t, []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms, 8000 * ms, 8000 * ms}, waits)
		})
	}
}

// A node that is told to stop does not wait until its database is tried again.
func TestADatabaseIsNotTriedAnyMoreAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &broken{fails: 8, began: time.Now()}
		m := &member{group: "jobs", log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer stop()
		_, err := m.reach(ctx, &database.Database{Store: store})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []time.Duration{0, 250 * time.Millisecond}, store.asked)
		assert.Equal(t, 300*time.Millisecond, time.Since(store.began))
	})
}

// renewing is a store whose renewals succeed or fail.
type renewing struct {
	lease.Store
	err error
}

func (r renewing) Renew(context.Context, string, []lease.Held) ([]string, error) { return nil, r.err }

// For metrics a renewal that has worked is an answer of the quorum, and a failed one is not.
func TestARenewalCountsAsAQuorumIfItHasWorked(t *testing.T) {
	m := &member{group: "jobs", metrics: metrics.New()}
	figures := m.metrics.Elector()
	_, err := contended{renewing{err: assert.AnError}, m, figures}.Renew(t.Context(), "n", nil)
	require.ErrorIs(t, err, assert.AnError)
	assert.Zero(t, quorums(t, m))
	_, err = contended{renewing{}, m, figures}.Renew(t.Context(), "n", nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, quorums(t, m))
}

// quorums is how many answers of quorums a member's metrics have counted.
func quorums(t *testing.T, m *member) uint64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(m.metrics))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "hustings_quorum_seconds" {
			return family.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	require.FailNow(t, "there is no such metric")
	return 0
}

// failed is a story whose member fails.
type failed struct{ story }

func (f *failed) Run(context.Context) error { <-f.told; return assert.AnError }

// A contender prints nothing before it has read the lease, and no term that is older than the
// one that it began with. The last line has the reason of its end.
func TestAMembersLinesBeginWithWhatIsKnown(t *testing.T) {
	var out strings.Builder
	m := member{id: "n", group: "g", out: NewPrinter(&out, false)}
	m.election = &failed{story{told: make(chan struct{}), all: []elector.Status{
		{Revision: 0, Role: memberstate.Candidate, Term: 3},
		{Revision: 1, Role: memberstate.Follower, Term: 2, Leader: "o"},
		{Revision: 2, Role: memberstate.Follower, Term: 3, Leader: "p"},
	}}}
	require.ErrorIs(t, m.run(t.Context(), 3), assert.AnError)
	assert.Equal(t, []string{
		"n  takes part in group g from term 3 on", "n  follows p in term 3", "n  stopped with an error: " + assert.AnError.Error(),
	}, withoutTimes(t, out.String()))
}

// lingering is an election whose last status comes when its member has ended.
type lingering struct{ story }

func (l *lingering) Run(context.Context) error { return nil }

func (l *lingering) Watch(ctx context.Context) iter.Seq[elector.Status] {
	<-ctx.Done()
	return l.story.Watch(ctx)
}

// The line that says that a member has stopped is its last one.
func TestAMembersLastLineIsThatItHasStopped(t *testing.T) {
	var out strings.Builder
	m := member{id: "n", group: "g", out: NewPrinter(&out, false)}
	m.election = &lingering{story{told: make(chan struct{}), all: []elector.Status{{Revision: 1, Term: 3}}}}
	require.NoError(t, m.run(t.Context(), 3))
	lines := withoutTimes(t, out.String())
	assert.Len(t, lines, 3)
	assert.Equal(t, "n  stopped", lines[len(lines)-1])
}

// Every new end of a lease is printed once, and the end of another term's never.
func TestALeaseIsPrintedWhenItsEndMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := member{id: "n", group: "g", out: NewPrinter(&out, true), leases: true}
		began := time.Now()
		h := &holder{term: 2, until: began.Add(time.Minute), held: true}
		m.elects(h, time.Second, time.Minute, Config{})
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- m.lead(ctx, 3) }()
		leases := func() int { return strings.Count(out.String(), `"lease"`) }
		for i, step := range []struct {
			term  memberstate.Term
			until time.Duration
			held  bool
			want  int
		}{
			{2, time.Minute, true, 0},
			{3, time.Minute, false, 0},
			{3, time.Minute, true, 1},
			{3, time.Minute, true, 1},
			{3, time.Minute + 1, true, 2},
			{3, time.Minute, true, 2},
			{2, time.Hour, true, 2},
		} {
			h.set(step.term, began.Add(step.until), step.held)
			<-time.After(1500 * time.Millisecond)
			synctest.Wait()
			assert.Equal(t, step.want, leases(), i)
		}
		leave()
		require.NoError(t, <-ended)
		assert.True(t, strings.HasSuffix(out.String(), "}\n"))
		lines := strings.Split(out.String(), "\n")
		assert.Contains(t, lines[len(lines)-2], `"unlead"`)
	})
}
