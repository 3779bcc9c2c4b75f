//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/stress"
)

// commandVariable makes this test's binary run the command, with these arguments, and hangVariable has the command hang when it prints.
const commandVariable, hangVariable = "HUSTINGS_TEST_COMMAND", "HUSTINGS_TEST_HANG"

// beTheCommand runs the command in a child process. A signal that comes before the
// command handles it, or after its end, does not kill the child.
func beTheCommand() {
	if args := os.Getenv(commandVariable); args != "" {
		caught, stdout := make(chan os.Signal, 1), io.Writer(os.Stdout)
		signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
		if os.Getenv(hangVariable) != "" {
			stdout = full(caught)
		}
		_, _ = os.Stderr.WriteString("ready\n") // the parent notices if it is missing
		os.Exit(Main(strings.Fields(args), stdout, os.Stderr))
	}
}

// full is an output that takes nothing. From the first write on its channel gets no signals, so one that the
// command does not handle ends the child.
type full chan os.Signal

func (f full) Write([]byte) (int, error) {
	signal.Stop(f)
	select {}
}

// betweenSignals is the pause between two signals to a process. Go's runtime ends a process in the signal's handler, which the next signal interrupts;
// if each comes at once, the handlers fill their stack, and the process ends by SIGSEGV.
const betweenSignals = 5 * time.Millisecond

// interrupted runs the command in a child process, sends it a signal until it ends, and returns what it has printed and how it ended.
func interrupted(t *testing.T, by syscall.Signal, command string, env ...string) (stdout string, failed *exec.ExitError) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, giveUp := context.WithTimeout(t.Context(), enough)
	defer giveUp()
	child := exec.CommandContext(ctx, self)
	child.Env = append(append(os.Environ(), commandVariable+"="+command), env...)
	var out strings.Builder
	child.Stdout = &out
	says, err := child.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = io.ReadFull(says, make([]byte, len("ready\n")))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for err = error(nil); err == nil; {
		_ = child.Process.Signal(by) // it may have ended just now
		select {
		case err = <-ended:
			require.Error(t, err, "an interrupted command ends with an error")
		case <-time.After(betweenSignals):
		}
	}
	require.ErrorAs(t, err, &failed)
	return out.String(), failed
}

// eachInterrupted checks the report of a command that is unfinished because it is ended by Ctrl-C, or by whoever stops its container.
func eachInterrupted[Report any](t *testing.T, command string, check func(*Report)) {
	t.Helper()
	for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		r := new(Report)
		stdout, failed := interrupted(t, by, command)
		assert.Equal(t, exitUnfinished, failed.ExitCode())
		require.NoError(t, json.Unmarshal([]byte(stdout), r))
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

// To close very many groups takes long, and whoever does not want to wait for that interrupts it again.
func TestASecondInterruptEndsMeasurementsAtOnce(t *testing.T) {
	_, failed := interrupted(t, syscall.SIGINT, "stress --groups 20 --for 1h", hangVariable+"=1")
	assert.EqualError(t, failed, "signal: interrupt")
}
