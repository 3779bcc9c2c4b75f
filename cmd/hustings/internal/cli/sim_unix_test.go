//go:build unix

package cli

import (
	"context"
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

	"github.com/hustings/hustings/cmd/hustings/internal/stress"
)

// commandVariable makes this test's binary run the command, with these arguments.
const commandVariable = "HUSTINGS_TEST_COMMAND"

// beTheCommand runs the command in a child process. A signal that comes before the
// command handles it, or after its end, does not kill the child.
func beTheCommand() {
	if args := os.Getenv(commandVariable); args != "" {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
		_, _ = os.Stderr.WriteString("ready\n") // the parent notices if it is missing
		os.Exit(Main(strings.Fields(args), os.Stdout, os.Stderr))
	}
}

// interrupted runs the command in a child process, sends it a signal, and returns what it has printed. It must end as unfinished.
func interrupted(t *testing.T, by syscall.Signal, command string) (stdout string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, giveUp := context.WithTimeout(t.Context(), enough)
	defer giveUp()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), commandVariable+"="+command)
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
		_ = child.Process.Signal(by) // it may have ended just now
		runtime.Gosched()
	}
	failed := new(exec.ExitError)
	require.ErrorAs(t, <-ended, &failed)
	assert.Equal(t, exitUnfinished, failed.ExitCode())
	return out.String()
}

// eachInterrupted checks the report of a command that is ended by Ctrl-C, or by whoever stops its container.
func eachInterrupted[Report any](t *testing.T, command string, check func(*Report)) {
	t.Helper()
	for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		r := new(Report)
		require.NoError(t, json.Unmarshal([]byte(interrupted(t, by, command)), r))
		check(r)
	}
}

func TestAnInterruptedSimulationReportsItsResultsSoFar(t *testing.T) {
	eachInterrupted(t, "sim --json --until-failure --duration 1s", func(r *simReport) {
		assert.Zero(t, r.Violations)
		assert.False(t, r.Complete)
		assert.Contains(t, r.Stopped, "interrupted after ")
	})
}

// A search, too, of which there may be a checkpoint.
func TestAnInterruptedSearchReportsItsResultsSoFar(t *testing.T) {
	eachInterrupted(t, "explore --terms 3 --json", func(r *exploreReport) {
		assert.Zero(t, r.Violations)
		assert.False(t, r.Complete)
		assert.NotEmpty(t, r.Stopped)
	})
}

// Nobody must take a part of the figures for all of them.
func TestInterruptedMeasurementsAreReportedAsSuch(t *testing.T) {
	eachInterrupted(t, "stress --groups 20 --for 1h --json", func(r *stress.Report) {
		assert.Equal(t, 20, r.Groups)
		assert.False(t, r.Complete)
		assert.Contains(t, r.Stopped, "interrupted while ")
	})
}
