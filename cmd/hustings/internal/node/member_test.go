package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// story is an election with scripted statuses.
type story struct {
	election
	all  []elector.Status
	told chan struct{}
}

func (s *story) Watch(context.Context) iter.Seq[elector.Status] {
	return func(yield func(elector.Status) bool) {
		defer close(s.told)
		for _, status := range s.all {
			if !yield(status) {
				return
			}
		}
	}
}

func (s *story) Run(context.Context) error { <-s.told; return nil }
func (s *story) Status() elector.Status    { return s.all[len(s.all)-1] }

// A change that would print the same line again is not printed.
func TestAChangeWithoutNewsIsNotPrinted(t *testing.T) {
	led := elector.Status{Revision: 1, Role: memberstate.Leader, Term: 3, Leader: "n"}
	left := elector.Status{Revision: 2, Role: memberstate.Candidate, Term: 3}
	hung := led
	hung.Inability, hung.Revision = protocol.NotAbleUnhealthy, 2
	gone := left
	gone.Inability = protocol.NotAbleHold
	follows := gone
	follows.Leader = "o"
	stopped := left
	stopped.Stopped, stopped.Revision = true, 3
	var out strings.Builder
	m := member{id: "n", group: "g", out: NewPrinter(&out, false), log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	m.election = &story{all: []elector.Status{led, led, hung, follows, gone, left, stopped}, told: make(chan struct{})}
	require.NoError(t, m.run(t.Context(), 3))
	assert.Equal(t, []string{
		"n  takes part in group g from term 3 on", "n  leads term 3", "n  leads term 3 (not able: unhealthy)",
		"n  follows o in term 3 (not able: just recovered)", "n  knows no leader in term 3 (not able: just recovered)", "n  knows no leader in term 3", "n  stopped",
	}, withoutTimes(t, out.String()))
}

// withoutTimes returns the lines of an output without the time of day that each begins with.
func withoutTimes(t *testing.T, text string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		at, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		_, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		lines = append(lines, rest)
	}
	return lines
}

// Scripts read what a member knows, and which process of the node says so.
func TestAnEventSaysWhatAMemberKnows(t *testing.T) {
	m := member{id: "n#7", name: "n", process: "7", group: "g"}
	s := elector.Status{Role: memberstate.Follower, Term: 3, Leader: "o", Vote: "p", Inability: protocol.NotAbleDisk}
	assert.Equal(t, Event{
		Event: "role", Node: "n#7", Process: "7", Group: "g", Term: 3, Role: "follower", Leader: "o", Inability: protocol.NotAbleDisk.String(), Vote: "p",
	}, m.role(s))
}

// Scripts get two times, one to read and one to measure with.
func TestAnEventHasTheTimeOfDay(t *testing.T) {
	var out strings.Builder
	NewPrinter(&out, true).print(Event{Event: "lead", AtNanos: 7})
	var e Event
	require.NoError(t, json.Unmarshal([]byte(out.String()), &e))
	assert.EqualValues(t, 7, e.AtNanos)
	at, err := time.Parse(time.RFC3339, e.Time)
	require.NoError(t, err)
	assert.Equal(t, at.Format(TimeOfDay), e.Time)
}

// holder is an election with a scripted lease.
type holder struct {
	election
	mu    sync.Mutex
	term  memberstate.Term
	until time.Time
	held  bool
}

func (h *holder) Lease() (memberstate.Term, time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term, h.until, h.held
}

// set changes the lease.
func (h *holder) set(term memberstate.Term, until time.Time, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.term, h.until, h.held = term, until, held
}

// Scripts rely on an event at the beginning and at the end of an office, and on the events of
// its leases in between.
func TestAnOfficeIsPrintedFromBeginningToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := member{id: "n", group: "g", out: NewPrinter(&out, true), leases: true}
		h := &holder{term: 3, until: time.Now().Add(time.Minute), held: true}
		m.elects(h, time.Second, time.Minute, Config{})
		earliest := until(h.until)
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- m.lead(ctx, 3) }()
		synctest.Wait()
		leave()
		require.NoError(t, <-ended)
		latest := until(h.until)
		var told []string
		for line := range strings.Lines(out.String()) {
			var e Event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			assert.EqualValues(t, 3, e.Term)
			told = append(told, e.Event)
			if e.Event == "lease" {
				assert.LessOrEqual(t, earliest, e.UntilNanos)
				assert.LessOrEqual(t, e.UntilNanos, latest)
			} else {
				assert.Zero(t, e.UntilNanos)
			}
		}
		assert.Equal(t, []string{"lead", "lease", "unlead"}, told)
	})
}

// A script would take the lease of the next leader for this one's.
func TestTheLeaseOfAnotherTermIsNotPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := member{id: "n", group: "g", out: NewPrinter(&out, true), leases: true}
		h := &holder{term: 4, until: time.Now().Add(time.Minute), held: true}
		m.elects(h, time.Second, time.Minute, Config{})
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- m.lead(ctx, 3) }()
		<-time.After(time.Minute)
		leave()
		require.NoError(t, <-ended)
		assert.NotContains(t, out.String(), `"event":"lease"`)
	})
}

// doomed is an election that ends with an error.
type doomed struct{ story }

func (d *doomed) Run(ctx context.Context) error { return errors.Join(d.story.Run(ctx), assert.AnError) }

// Whoever reads only the lines learns why there are no more.
func TestTheLastLineSaysWhyAMemberHasStopped(t *testing.T) {
	var out strings.Builder
	m := member{id: "n", group: "g", out: NewPrinter(&out, false)}
	m.election = &doomed{story{all: []elector.Status{{Revision: 1, Term: 3, Leader: "o"}}, told: make(chan struct{})}}
	require.ErrorIs(t, m.run(t.Context(), 3), assert.AnError)
	lines := withoutTimes(t, out.String())
	assert.Equal(t, "n  stopped with an error: "+assert.AnError.Error(), lines[len(lines)-1])
}

// The deadline that the watchdogs get leaves them time to kill the program within the lease.
func TestTheProgramEndsBeforeItsLease(t *testing.T) {
	h := &holder{term: 3, until: time.Now().Add(time.Minute), held: true}
	m := member{leases: true}
	m.elects(h, time.Second, 2*time.Second, Config{})
	end, held := m.lease(3)()
	assert.True(t, held)
	assert.InDelta(t, 100*time.Millisecond, until(h.until)-end, float64(time.Millisecond))
	_, held = m.lease(2)()
	assert.False(t, held, "the lease is of another term")
	h.held = false
	_, held = m.lease(3)()
	assert.False(t, held)
	m.leases = false
	end, held = m.lease(3)()
	assert.Zero(t, end)
	assert.True(t, held)
}

// The program learns its node and group, and the term that fences its writes.
func TestTheProgramGetsItsNodeGroupAndTerm(t *testing.T) {
	m := member{id: "n#7", name: "n", group: "g"}
	assert.Equal(t, []string{"HUSTINGS_NODE=n", "HUSTINGS_GROUP=g", "HUSTINGS_TERM=3"}, m.environment("3"))
}
