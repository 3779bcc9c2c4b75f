// The log with a logger, and without one.

package elector_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// runUntilStoreFails runs a member that leads until its store fails.
func runUntilStoreFails(t *testing.T, logger *slog.Logger) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, c := new(memberstate.MemStore), singleConfig()
		c.Store, c.Logger = store, logger
		c.Lead = func(context.Context, memberstate.Term) error {
			store.Break(assert.AnError)
			return errors.New("no disk to write to")
		}
		require.ErrorIs(t, newElector(t, c).Run(context.Background()), assert.AnError)
	})
}

func TestWithoutALoggerOnlyWarningsAndErrorsAreLogged(t *testing.T) {
	var logged bytes.Buffer
	silent := slog.Default()
	defer slog.SetDefault(silent)
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	runUntilStoreFails(t, nil)
	assert.Contains(t, logged.String(), `msg="lead returned early, resigning" group=g term=1 error="no disk to write to"`)
	assert.Contains(t, logged.String(), `level=ERROR msg=stopped group=g term=1`)
	assert.NotContains(t, logged.String(), "level=INFO")
	logged.Reset()
	runUntilStoreFails(t, slog.New(slog.DiscardHandler))
	assert.Empty(t, logged.String())
}

// loggedBy is what a lone member logs.
func loggedBy(t *testing.T, run func(el *elector.Elector) error) string {
	t.Helper()
	var logged bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		c := singleConfig()
		c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		require.NoError(t, run(newElector(t, c)))
	})
	return logged.String()
}

// A line holds the member's status after the change.
func TestALoggerReceivesEachChangeOnce(t *testing.T) {
	logged := loggedBy(t, func(el *elector.Elector) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return el.Run(ctx)
	})
	lines := strings.Split(strings.TrimSpace(logged), "\n")
	leads, seen := 0, map[string]bool{}
	for _, line := range lines {
		_, change, _ := strings.Cut(line, "msg=")
		assert.False(t, seen[change], change)
		seen[change] = true
		if strings.HasPrefix(change, "role group=g term=1 role=leader leader=n0 vote=n0") {
			leads++
		}
	}
	assert.Equal(t, 1, leads, logged)
}

// Its role may stay the same.
func TestALoggerReceivesWhetherAMemberIsAble(t *testing.T) {
	logged := loggedBy(t, func(el *elector.Elector) error {
		err := el.Start()
		for _, may := range []bool{false, true} {
			<-time.After(time.Minute)
			err = errors.Join(err, el.Electable(may))
		}
		return errors.Join(err, el.Stop(context.Background()))
	})
	assert.Equal(t, 3, strings.Count(logged, "role=leader"), logged)
	assert.Equal(t, 1, strings.Count(logged, "role=leader leader=n0 vote=n0 last_leader=\"\" departure=\"\" ability=ordered"), logged)
}

// stuckLog is a handler that waits until it is released.
type stuckLog struct {
	slog.Handler
	released <-chan struct{}
}

func (l stuckLog) Handle(context.Context, slog.Record) error {
	<-l.released
	return nil
}

// Standard error may be a pipe that nobody reads. The node goes on to beat, and ends when it is told to.
func TestALoggerThatBlocksStopsNoHeartbeats(t *testing.T) {
	var release chan struct{}
	withCluster(t, 3, func(c *config) {
		if release == nil {
			release = make(chan struct{})
		}
		c.Logger = slog.New(stuckLog{slog.NewTextHandler(io.Discard, nil), release})
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		cluster.pass(time.Minute)
		assert.Equal(t, leader.el.Status(), cluster.awaitLeader().el.Status(), "another term was led")
		report, err := leader.el.Report(context.Background())
		require.NoError(t, err)
		assert.Less(t, report.QuorumAge, elector.DefaultTiming().Detection())
		require.NoError(t, cluster.stop(leader))
		close(release)
	})
}
