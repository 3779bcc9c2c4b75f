// The watchdogs end the program and all its descendants, in time.

package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEverythingEndsWithTheDeadline(t *testing.T) {
	inCgroups(t, func(t *testing.T, in cgroup) {
		t.Helper()
		p := startPair(t)
		p.order(t, "%s%q", orderCgroup, in)
		p.run(t, hidden)
		p.says(t, hiddenLetters)
		p.order(t, orderUntil+"%d", monotonic()+int64(time.Millisecond))
		_, report := p.end(t)
		assert.Equal(t, reportLease, report)
	})
}

func TestEverythingEndsWithTheOrders(t *testing.T) {
	inCgroups(t, func(t *testing.T, in cgroup) {
		t.Helper()
		p := startPair(t)
		p.order(t, "%s%q", orderCgroup, in)
		p.run(t, hidden)
		p.says(t, hiddenLetters)
		require.NoError(t, p.orders.Close())
		_, report := p.end(t)
		assert.Equal(t, reportNode, report)
	})
}

// A node that was killed cannot remove the socket of its program.
func TestTheWatchdogsRemoveTheSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "socket"), nil, 0o600))
	p := startPair(t)
	p.order(t, "%s%q", orderSocket, filepath.Join(dir, "socket"))
	p.run(t, "echo -n .; exec sleep 1000")
	p.says(t, 1)
	assert.DirExists(t, dir)
	require.NoError(t, p.orders.Close())
	_, _ = p.end(t)
	assert.NoDirExists(t, dir)
}

// Whichever watchdog is killed, the other one ends everything, and itself.
func TestEverythingEndsWithEitherWatchdog(t *testing.T) {
	inner := func(t *testing.T, p *pair) int {
		t.Helper()
		for _, d := range descendants(p.outer.Process.Pid) {
			if d.parent == p.outer.Process.Pid {
				return d.id
			}
		}
		require.Fail(t, "there is no inner watchdog")
		return 0
	}
	for name, which := range map[string]func(*testing.T, *pair) int{
		"outer": func(_ *testing.T, p *pair) int { return p.outer.Process.Pid },
		"inner": inner,
	} {
		t.Run(name, func(t *testing.T) {
			p := startPair(t)
			p.run(t, hidden)
			p.says(t, hiddenLetters)
			require.NoError(t, syscall.Kill(which(t, p), syscall.SIGKILL))
			_, report := p.end(t)
			assert.Equal(t, reportOther, report)
			_ = p.outer.Wait() // that it was killed is known
			p.outer = exec.Command("true")
			require.NoError(t, p.outer.Start())
		})
	}
}

// A program that is asked to end, and all processes that it has started, in any session, get
// only SIGTERM; they live on when the shell has ended.
func TestAProgramThatIsAskedToEndMayTakeItsTime(t *testing.T) {
	p := startPair(t)
	const polite = `trap "sleep 0.1; echo -n $0; exit" TERM; echo -n .; while :; do sleep 0.01; done`
	p.run(t, fmt.Sprintf(`S='%s'
sh -c "$S" A & (sh -c "$S" B &) ; setsid sh -c "$S" C & (setsid sh -c "$S" D &) ; sh -c "$S" E; echo -n X`, polite))
	p.says(t, hiddenLetters)
	p.order(t, orderStop)
	output, report := p.end(t)
	assert.Equal(t, "ended signal: terminated", report)
	for _, letter := range "ABCDE" {
		assert.Equal(t, 1, strings.Count(output, string(letter)), "%c in %s", letter, output)
	}
	assert.NotContains(t, output, "X", "the shell has ended")
}

// The program, and processes that have left its group, are killed before anything is done that
// takes long on a machine with many processes or a busy processor.
func TestTheProgramIsKilledBeforeEveryProcessIsLookedAt(t *testing.T) {
	for name, command := range map[string]string{
		"its group":       `echo $$; exec sleep 1000`,
		"another session": `setsid sh -c 'echo $$; exec sleep 1000' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			output, printed, err := os.Pipe()
			require.NoError(t, err)
			program := programProcess(command, nil)
			program.Stdout = printed
			require.NoError(t, program.Start())
			require.NoError(t, printed.Close())
			var id int
			_, err = fmt.Fscanln(output, &id)
			require.NoError(t, err)
			looked := false
			w := watchdog{inner: true, child: program.Process.Pid, search: func(int) []process {
				looked = true
				assert.Eventually(t, func() bool { return over(id) }, long, time.Millisecond, "not killed yet")
				return nil
			}}
			w.strike()
			assert.True(t, looked)
			assert.Error(t, program.Wait(), "it was killed")
			require.NoError(t, output.Close())
		})
	}
}

// over reports whether a process has ended; it may still wait for its parent.
func over(id int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// Processes left behind by a program that ends by itself are asked to end, and killed a little
// later.
func TestProcessesLeftBehindAreEnded(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	p.run(t, `(trap "echo -n asked" TERM; echo -n .; while :; do sleep 0.01; done) & (setsid sleep 1000 &) ; sleep 0.1; exit 3`)
	output, report := p.end(t)
	assert.Equal(t, "ended exit status 3", report)
	assert.Contains(t, output, "asked")
}

func TestTheEndOfAProgramIsReportedWithItsReason(t *testing.T) {
	for command, want := range map[string]string{
		"/nonexistent":  "ended exit status 127",
		"exit 0":        "ended exit status 0",
		"kill -9 $$":    "ended signal: killed",
		"kill -TERM $$": "ended signal: terminated",
		"exit 3 #" + strings.Repeat(" long", 100_000/5): "ended exit status 3",
	} {
		p := startPair(t)
		p.run(t, command)
		_, report := p.end(t)
		assert.Equal(t, want, report, "%.20s", command)
	}
}

func TestAProgramIsNotStartedTooLate(t *testing.T) {
	p := startPair(t)
	p.order(t, orderUntil+"%d", monotonic()-1)
	_, _ = fmt.Fprintf(p.orders, "%s%q\n", orderRun, "echo started") // the reader may already be gone
	output, report := p.end(t)
	assert.Equal(t, reportLease, report)
	assert.Empty(t, output)

	// The same if the deadline passes between the two orders.
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	w := watchdog{inner: true, until: monotonic(), reports: nowhere}
	require.NoError(t, w.startProgram("exit 1"))
	assert.False(t, w.started)
	require.NoError(t, nowhere.Close())
}
