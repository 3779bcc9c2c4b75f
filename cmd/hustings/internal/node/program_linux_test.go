// The program ends before another node may lead, and a node whose program fails stands back.

package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
)

// serving returns a running program, and a file that exists while it runs.
func serving(t *testing.T, stubborn bool) (p *program, there string) {
	t.Helper()
	there = filepath.Join(t.TempDir(), "there")
	onTerm := "rm " + there + "; exit"
	if stubborn {
		onTerm = ""
	}
	script := fmt.Sprintf("trap '%s' TERM; echo $$ > %[2]s.new; mv %[2]s.new %[2]s; while :; do sleep 0.05; done", onTerm, there)
	p = &program{command: script, every: time.Millisecond}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- p.run(ctx, 3, nil, noLease) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Log("it was cut off:", err)
		}
	})
	require.Eventually(t, func() bool { _, err := os.Stat(there); return err == nil }, long, time.Millisecond)
	return p, there
}

// All calls after which another node may lead return only when the program has ended.
func TestNoOtherNodeLeadsWhileTheProgramRuns(t *testing.T) {
	for name, wait := range map[string]func(n *node) error{
		"a handover":    func(n *node) error { return n.program.pause(t.Context(), 3) },
		"a resignation": func(n *node) error { n.endProgram(""); return nil },
		"the end of this node": func(n *node) error {
			ctx, end := context.WithCancel(t.Context())
			leads, cancel := n.untilOutOfService(ctx)
			defer cancel()
			end()
			<-leads.Done()
			return nil
		},
	} {
		p, there := serving(t, false)
		n := &node{member: member{program: p}, detection: long, config: Config{DrainWait: new(time.Duration)}}
		require.NoError(t, wait(n), name)
		assert.NoFileExists(t, there, name)
	}
}

// A caller waits for a program that does not end only as long as it wants to, or has it killed.
func TestTheWaitForAStubbornProgramIsBounded(t *testing.T) {
	p, there := serving(t, true)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	n := &node{member: member{program: p, out: NewPrinter(&out, true)}}
	assert.ErrorIs(t, n.pause(impatient, 3), context.Canceled)
	assert.Empty(t, out.String(), "there is no handover")
	text, err := os.ReadFile(there)
	require.NoError(t, err)
	var id int
	_, err = fmt.Sscan(string(text), &id)
	require.NoError(t, err)
	assert.False(t, over(id), "it was asked, and not killed")
	p.end(time.Millisecond)
	assert.True(t, over(id))
}

// resigner is an election in which a member can only resign.
type resigner struct {
	election
	leave    context.CancelFunc // ends the office
	resigned bool
	back     context.Context // until when it stands back
	over     bool            // it did not stand back at all
}

func (r *resigner) Resign(context.Context) error {
	r.resigned = true
	r.leave()
	return nil
}

// Watch ends at once, as if the member had stopped.
func (r *resigner) Watch(ctx context.Context) iter.Seq[elector.Status] {
	r.back, r.over = ctx, ctx.Err() != nil
	return func(func(elector.Status) bool) {}
}

// A member whose program fails at once gives up its office, and does not stand again before the
// wait is over, unless it is stopped.
func TestAMemberStandsBackWhenItsProgramFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &resigner{leave: cancel}
	n := &node{member: member{id: "n", out: NewPrinter(io.Discard, true), log: slog.New(slog.DiscardHandler)}}
	n.elects(r, time.Millisecond, time.Minute, Config{Exec: "exit 1"})
	n.program.standby.failures = 10 // in a row, so that the wait is a minute
	assert.ErrorContains(t, n.groupConfig(elector.DefaultTiming()).Lead(ctx, 3), "exit status 1")
	assert.True(t, r.resigned)
	require.NotNil(t, r.back)
	until, bounded := r.back.Deadline()
	require.True(t, bounded)
	assert.WithinDuration(t, n.program.standby.until, until, 10*time.Second)
	assert.False(t, r.over, "its office had ended, and the wait had not")
	assert.Positive(t, n.program.standsBack(), "it had stopped before its time was over")
}

// A member that does not stand back has done with its office when that ends: it neither resigns
// from what it has not any more, nor waits.
func TestAMemberThatNeedNotStandBackDoesNot(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &resigner{leave: cancel}
	n := &node{member: member{id: "n", out: NewPrinter(io.Discard, true)}}
	n.elects(r, time.Millisecond, time.Minute, Config{})
	require.NoError(t, n.lead(ctx, 3))
	assert.False(t, r.resigned)
	assert.Nil(t, r.back)
}

// claimed counts claims.
type claimed struct {
	lease.Store
	claims int
}

func (c *claimed) Acquire(context.Context, lease.Claim) (bool, error) {
	c.claims++
	return true, nil
}

func TestAContenderThatStandsBackClaimsNothing(t *testing.T) {
	store, p := new(claimed), &program{standby: standby{until: time.Now().Add(time.Hour)}}
	s := contended{Store: store, member: &member{program: p}}
	won, err := s.Acquire(t.Context(), lease.Claim{})
	require.NoError(t, err)
	assert.False(t, won)
	assert.Zero(t, store.claims)
	p.standby = standby{}
	won, err = s.Acquire(t.Context(), lease.Claim{})
	require.NoError(t, err)
	assert.True(t, won)
}

// The reason why a node gives up its office is logged, and the end of the office is none.
func TestAProgramThatFailsIsLogged(t *testing.T) {
	for command, ends := range map[string]bool{"exit 3": false, "sleep 1000": true} {
		var logged bytes.Buffer
		m := &member{out: NewPrinter(io.Discard, true), log: slog.New(slog.NewTextHandler(&logged, nil)), program: &program{command: command, every: time.Hour}}
		ctx, cancel := context.WithCancel(t.Context())
		if ends {
			cancel()
		}
		require.Error(t, m.lead(ctx, 3))
		cancel()
		if ends {
			assert.Empty(t, logged.String())
		} else {
			assert.Contains(t, logged.String(), "this node gives up the leadership")
			assert.Contains(t, logged.String(), "exit status 3")
		}
	}
}
