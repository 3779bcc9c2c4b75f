// The reason that is reported for the end of a program.

package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runProgram runs a program under its watchdogs until it ends.
func runProgram(ctx context.Context, t *testing.T, p *program, lease func() (int64, bool)) error {
	t.Helper()
	p.every = time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, 3, nil, lease) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(long):
		require.FailNow(t, "does not end")
		return nil
	}
}

func noLease() (int64, bool) { return 0, true }

func TestAProgramThatEndsByItselfIsTheReason(t *testing.T) {
	p := &program{command: "/nonexistent 2> /dev/null"}
	err := runProgram(t.Context(), t, p, noLease)
	assert.EqualError(t, err, "the program has ended by itself: exit status 127")
	assert.Equal(t, 1, p.standby.failures, "it has failed at once")
}

// A command may be longer than the system allows. The operator reads so, and not that a watchdog has failed.
func TestAProgramThatCannotBeStartedIsTheReason(t *testing.T) {
	p := &program{command: "true " + strings.Repeat("x", 32*os.Getpagesize())}
	err := runProgram(t.Context(), t, p, noLease)
	assert.EqualError(t, err, "the program has ended by itself: fork/exec /bin/sh: argument list too long")
	assert.Equal(t, 1, p.standby.failures)
}

// A lease that is not renewed ends the program, and is reported as the reason.
func TestALeaseThatRunsOutIsTheReason(t *testing.T) {
	end := monotonic() + int64(10*time.Millisecond)
	p := &program{command: "exec sleep 1000"}
	err := runProgram(t.Context(), t, p, func() (int64, bool) { return end, true })
	assert.EqualError(t, err, errLeaseRanOut.Error())
	assert.Zero(t, p.standby.failures, "it has not failed")
}

func TestAKilledWatchdogIsTheReason(t *testing.T) {
	p := &program{command: "kill -9 $PPID; exec sleep 1000"}
	err := runProgram(t.Context(), t, p, noLease)
	assert.ErrorContains(t, err, "because one of its watchdogs was")
	assert.Equal(t, 1, p.standby.failures, "it would be killed again, if it killed the watchdog")
}

// If both watchdogs are killed, the node kills the program through its control group.
func TestWithoutWatchdogsTheNodeEndsTheProgram(t *testing.T) {
	if c := newCgroup(); c == "" {
		t.Skip("this process may not make a control group")
	} else {
		c.remove()
	}
	ready := filepath.Join(t.TempDir(), "ready")
	p := &program{command: fmt.Sprintf(`(setsid sh -c 'echo $$ > %s; exec sleep 1000' &)
until test -s %s; do :; done; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID`, ready, ready)}
	err := runProgram(t.Context(), t, p, noLease)
	assert.ErrorContains(t, err, "because one of its watchdogs was")
	id, err := os.ReadFile(ready)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(id)))
	require.NoError(t, err)
	assert.True(t, over(child))
}

// The end of an office also ends a program that ignores SIGTERM, and watchdogs that were
// stopped.
func TestTheOfficeEndsTheProgram(t *testing.T) {
	for name, command := range map[string]string{
		"stubborn":             `trap "" TERM; %s; while :; do sleep 1000; done`,
		"inner watchdog stops": `%s; kill -STOP $PPID; exec sleep 1000`,
		"outer watchdog stops": `%s; kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); exec sleep 1000`,
	} {
		for _, graceful := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, graceful=%v", name, graceful), func(t *testing.T) {
				t.Parallel()
				ready := filepath.Join(t.TempDir(), "ready")
				p := &program{command: fmt.Sprintf(command, "echo $$ > "+ready), graceful: graceful}
				ctx, cancel := context.WithCancel(t.Context())
				lease := func() (int64, bool) {
					left := long // nothing ends it before it is ready
					if _, err := os.Stat(ready); err == nil {
						left = time.Second
						cancel()
					}
					if !graceful {
						return 0, true
					}
					return monotonic() + int64(left), true
				}
				err := runProgram(ctx, t, p, lease)
				assert.ErrorIs(t, err, context.Canceled)
				id, err := os.ReadFile(ready)
				require.NoError(t, err)
				assert.NoFileExists(t, "/proc/"+strings.TrimSpace(string(id)))
			})
		}
	}
}

// The first report is the reason, unless it says that the watchdogs are ready.
func TestTheFirstReportAfterReadyIsTheReason(t *testing.T) {
	for reports, ready := range map[string]bool{
		reportReady + "\n" + reportLease + "\n" + reportOther + "\n": true,
		reportLease + "\n" + reportReady + "\n":                      false,
	} {
		from, to, err := os.Pipe()
		require.NoError(t, err)
		_, err = to.WriteString(reports)
		require.NoError(t, err)
		require.NoError(t, to.Close())
		nobody, orders, err := os.Pipe()
		require.NoError(t, err)
		w := &watched{
			outer: exec.Command("true"), orders: orders,
			ready: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{}),
		}
		require.NoError(t, w.outer.Start())
		w.listen(from)
		assert.Equal(t, reportLease, w.report)
		select {
		case <-w.ready:
			assert.True(t, ready, "%q", reports)
		default:
			assert.False(t, ready, "%q", reports)
		}
		require.NoError(t, nobody.Close())
	}
}
