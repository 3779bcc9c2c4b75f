//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ctrl-C ends a simulation with what it came to so far.
func TestAnInterruptedSimulationTellsWhatItHas(t *testing.T) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt) // this process must not die of what comes before the command listens
	defer signal.Stop(ignored)
	code, out := make(chan int, 1), ""
	go func() {
		c, stdout, _ := run("sim", "--json", "--until-failure", "--duration", "1s")
		out = stdout
		code <- c
	}()
	for len(code) == 0 {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		runtime.Gosched()
	}
	assert.Equal(t, exitOK, <-code)
	var r simReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.Zero(t, r.Violations)
}
