package node

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/metrics"
)

// A node's waits follow from its timing.
func TestANodesWaitsFollowFromItsTiming(t *testing.T) {
	free, err := FreeAddresses(1)
	require.NoError(t, err)
	c := Config{
		Node: "n0", Group: "orders", Data: t.TempDir(), New: true, Listen: free[0], Timing: "dledger", Exec: "true",
		Members: []Member{{ID: "n0", Address: free[0]}},
	}
	n := &node{member: member{metrics: metrics.New(), log: slog.New(slog.DiscardHandler), out: NewPrinter(io.Discard, true)}, config: c}
	require.NoError(t, n.open())
	timing := elector.DLedgerTiming()
	assert.Equal(t, timing.Detection(), n.detection)
	assert.Equal(t, timing.Detection()/killingPart, n.killing)
	assert.Equal(t, timing.Heartbeat/2, n.every)
	assert.Equal(t, timing.Heartbeat/2, n.program.every)
	assert.False(t, n.program.graceful)
	require.NoError(t, n.close())
}

// The election asks for the ability of a node whose program can be vouched for, and of no other.
func TestTheElectionAsksWhatVouchesForTheProgram(t *testing.T) {
	c := voter()
	n := &node{member: member{metrics: metrics.New()}, config: c}
	without := n.hostConfig()
	assert.Nil(t, without.Stalled)
	assert.False(t, without.NoNodeBeats, "the others are to know whether it serves")
	c.Exec, c.Notify, c.Vouch = "true", true, 7*time.Second
	n.ability = newAbility(&c, slog.New(slog.DiscardHandler))
	n.ability.begins(3)
	with := n.hostConfig()
	require.NotNil(t, with.Stalled)
	assert.Empty(t, with.Stalled(t.Context()))
	n.ability.hears(n.ability.voice, "WATCHDOG=trigger")
	assert.Equal(t, []string{c.Group}, with.Stalled(t.Context()))
	assert.Zero(t, n.groupConfig(elector.DefaultTiming()).Vouch, "a group that vouches for itself takes no part in beats")
	n.elects(nil, 0, 0, c)
	assert.Same(t, n.ability, n.program.ability)
}
