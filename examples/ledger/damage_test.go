// Real processes whose data are damaged: they end, and say why.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/examples/ledger/server"
)

// write has the nodes write so many values.
func (c *machines) write(writes int) {
	c.t.Helper()
	elections := map[string]string{}
	for id, address := range c.addresses {
		at, err := server.ElectionsAt(address)
		require.NoError(c.t, err)
		elections[id] = at
	}
	nodes, err := client.Connect(c.t.Context(), c.addresses, elections, shards)
	require.NoError(c.t, err)
	defer func() { _ = nodes.Close() }()
	wait, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	asks := nodes.Client()
	for i := range writes {
		require.NoError(c.t, asks.Put(wait, fmt.Appendf(nil, "key %d", i), bytes.Repeat([]byte("v"), 100)))
	}
}

// refuses starts a process that is to end by itself, and returns what it says.
func (c *machines) refuses(m *machine) string {
	c.t.Helper()
	wait, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	process := exec.CommandContext(wait, c.binary, "--node", m.id, "--nodes", m.nodes, "--data", m.dir, "--shards", strconv.Itoa(shards))
	process.Env = append(os.Environ(), "LEDGER_TEST_NODE=1")
	var says bytes.Buffer
	process.Stderr = &says
	err := process.Run()
	var ended *exec.ExitError
	require.ErrorAs(c.t, err, &ended, "it serves")
	require.NoError(c.t, wait.Err(), "it goes on: %s", &says)
	assert.Equal(c.t, 1, ended.ExitCode())
	return says.String()
}

// change changes all files of the data whose names match.
func (m *machine) change(t *testing.T, pattern string, how func(text []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "data", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		how(text)
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
}

// Pebble finds it when it joins tables, and never returns from that.
func TestANodeWithADamagedTableEndsAndSaysSo(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	c := newMachines(t)
	m := c.all[0]
	c.write(100)
	for range 3 { // each start makes a table
		c.end(m, syscall.SIGTERM)
		c.start(m)
		c.write(3)
	}
	c.end(m, syscall.SIGTERM)
	m.change(t, "*.sst", func(text []byte) {
		for at := 50; at < len(text)/2; at += 97 {
			text[at] ^= 1
		}
	})
	assert.Contains(t, c.refuses(m), "checksum mismatch")
}

// It would vote with a ledger that is too short.
func TestANodeThatHasLostASyncedWriteEndsAndSaysSo(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	c := newMachines(t)
	m := c.all[0]
	c.write(20)
	c.end(m, syscall.SIGKILL)
	m.change(t, "*.log", func(text []byte) {
		end := slices.IndexFunc(text, func(b byte) bool { return b != 0 }) + len(bytes.TrimRight(text, "\x00")) - 1
		text[end/2] ^= 1
	})
	for range 2 { // it does not heal
		says := c.refuses(m)
		assert.Contains(t, says, "the newest log is damaged")
		assert.Contains(t, says, filepath.Join(m.dir, "data", "synced"))
		assert.Regexp(t, `end with write \d+, and .* write \d+ was synced`, says)
	}
}

// Whatever it waits for then: a disk that hangs, or pebble, which has found damage.
func TestANodeThatDoesNotStartCanBeStopped(t *testing.T) {
	hangs := make(chan struct{})
	defer close(hangs)
	begin := func() (*server.Node, error) { <-hangs; return nil, nil }
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	damaged, told := errors.New("damaged"), errors.New("told to end")
	failed <- damaged
	_, err := start(ctx, begin, failed)
	require.ErrorIs(t, err, damaged)
	cancel(told)
	_, err = start(ctx, begin, failed)
	require.ErrorIs(t, err, told)
}
