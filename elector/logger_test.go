// What nobody has asked to be told is not told, unless it goes wrong.

package elector_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

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
