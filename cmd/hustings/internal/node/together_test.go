package node

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

// While local nodes end together their warnings are expected, and errors are not.
func TestNodesThatEndTogetherWarnOfNothing(t *testing.T) {
	running, end := context.WithCancel(t.Context())
	log := slog.New(together{slog.NewTextHandler(t.Output(), nil), running}).With("node", "n0").WithGroup("group")
	enabled := func(l slog.Level) bool { return log.Enabled(t.Context(), l) }
	assert.False(t, enabled(slog.LevelDebug))
	assert.True(t, enabled(slog.LevelInfo))
	assert.True(t, enabled(slog.LevelWarn))
	end()
	assert.False(t, enabled(slog.LevelWarn))
	assert.True(t, enabled(slog.LevelError))
}
