// What nobody has asked to be told is not told, unless it goes wrong.

package elector_test

import (
	"bytes"
	"context"
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

// fails runs a member that leads, and whose store then fails.
func fails(t *testing.T, logger *slog.Logger) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := new(gatedStore)
		c := goodConfig()
		c.Members, c.Store, c.Logger = memberstate.Voters("n0"), store, logger
		c.Lead = func(context.Context, memberstate.Term) error {
			store.Break(assert.AnError)
			return nil
		}
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		require.ErrorIs(t, el.Run(context.Background()), assert.AnError)
	})
}

func TestWithoutALoggerOnlyWhatGoesWrongIsTold(t *testing.T) {
	var told bytes.Buffer
	silent := slog.Default()
	defer slog.SetDefault(silent)
	slog.SetDefault(slog.New(slog.NewTextHandler(&told, nil)))
	fails(t, nil)
	assert.Contains(t, told.String(), "lead returned early, resigning")
	assert.Contains(t, told.String(), `level=ERROR msg=stopped group=g`)
	assert.NotContains(t, told.String(), "level=INFO")
	told.Reset()
	fails(t, slog.New(slog.DiscardHandler))
	assert.Empty(t, told.String())
}

// Each change is told once to a logger that listens, with what the member is from then on.
func TestALoggerIsToldOfEachChange(t *testing.T) {
	var told bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		told.Reset()
		c := goodConfig()
		c.Members, c.Logger = memberstate.Voters("n0"), slog.New(slog.NewTextHandler(&told, nil))
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, el.Run(ctx))
	})
	lines := strings.Split(strings.TrimSpace(told.String()), "\n")
	leads, seen := 0, map[string]bool{}
	for _, line := range lines {
		_, what, _ := strings.Cut(line, "msg=")
		assert.False(t, seen[what], what)
		seen[what] = true
		if strings.HasPrefix(what, "role group=g term=1 role=leader leader=n0 vote=n0") {
			leads++
		}
	}
	assert.Equal(t, 1, leads, told.String())
}
