//go:build unix

package cli

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commandVariable has this test's binary be the command, with these arguments.
const commandVariable = "HUSTINGS_TEST_COMMAND"

// beTheCommand is what a child does. An interrupt that comes before the command listens,
// or after it has ended, does not kill it.
func beTheCommand() {
	if args := os.Getenv(commandVariable); args != "" {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		_, _ = os.Stderr.WriteString("ready\n") // who waits for it finds out if it cannot be written
		os.Exit(Main(strings.Fields(args), os.Stdout, os.Stderr))
	}
}

// Ctrl-C ends a simulation with what it came to so far, and with the code that says so.
func TestAnInterruptedSimulationTellsWhatItHas(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), commandVariable+"=sim --json --until-failure --duration 1s")
	var out strings.Builder
	child.Stdout = &out
	says, err := child.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = io.ReadFull(says, make([]byte, len("ready\n")))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for len(ended) == 0 {
		_ = child.Process.Signal(syscall.SIGINT) // it may have ended just now
		runtime.Gosched()
	}
	failed := new(exec.ExitError)
	require.ErrorAs(t, <-ended, &failed)
	assert.Equal(t, exitUnfinished, failed.ExitCode())
	var r simReport
	require.NoError(t, json.Unmarshal([]byte(out.String()), &r))
	assert.Zero(t, r.Violations)
	assert.False(t, r.Complete)
	assert.Contains(t, r.Stopped, "interrupted after ")
}
