// The command of --alive, with real processes.

package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
)

func commanding(command string, counts time.Duration) *ability {
	return newAbility(&Config{Alive: command, Vouch: counts}, slog.New(slog.DiscardHandler))
}

// file returns what is in a file; nothing if there is none.
func file(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

func TestTheExitStatusOfTheCommandIsItsAnswer(t *testing.T) {
	for command, want := range map[string]string{
		"true":                                  "",
		"echo fine; echo fine >&2":              "",
		"exit 7":                                "exit status 7",
		"echo 'no  room'; echo left >&2; false": "exit status 1: \"no  room\\nleft\\n\"",
		"kill -9 $$":                            "signal: killed",
		"no-such-command 2> /dev/null":          "exit status 127",
		`[ "$HUSTINGS_TERM" = 3 ]`:              "",
	} {
		err := commanding(command, long).ask(t.Context(), []string{"HUSTINGS_TERM=3"})
		if want == "" {
			require.NoError(t, err, command)
		} else {
			require.EqualError(t, err, want, command)
		}
	}
	err := commanding("yes 0123456789 | head -c 1000000; false", long).ask(t.Context(), nil)
	assert.Less(t, len(err.Error()), 300, "the output is cut off, and the command is not held up")
}

// What a command has left behind does not hold up its answer, even if it holds the output.
func TestACommandIsNotTakenForWhatItHasLeftBehind(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	require.NoError(t, commanding("sleep 1000 & echo $! > "+pid, long).ask(t.Context(), nil))
	var id int
	_, err := fmt.Sscan(file(pid), &id)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(id, syscall.SIGKILL))
}

// A command that takes longer than its word counts is killed with all that is in its process group, and so
// is one that runs when the node ends.
func TestACommandThatTakesTooLongIsKilled(t *testing.T) {
	for name, counts := range map[string]time.Duration{"too long": 10 * time.Millisecond, "the node ends": long} {
		pids := filepath.Join(t.TempDir(), "pids")
		ctx, end := context.WithCancel(t.Context())
		a := commanding(fmt.Sprintf("trap '' TERM; while [ ! -e %[1]s.go ]; do sleep 0.01; done; sleep 1000 & echo $! > %[1]s; wait", pids), counts)
		if counts == long {
			require.NoError(t, os.WriteFile(pids+".go", nil, 0o600))
		}
		answer := make(chan error, 1)
		go func() { answer <- a.ask(ctx, nil) }()
		if counts == long {
			require.Eventually(t, func() bool { return strings.HasSuffix(file(pids), "\n") }, long, time.Millisecond)
			end()
		}
		require.ErrorContains(t, <-answer, "it has not ended within "+counts.String(), name)
		end()
		if counts == long {
			var id int
			_, err := fmt.Sscan(file(pids), &id)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return gone(id) }, long, time.Millisecond, name)
		}
	}
}

// A group runs as long as one of its processes does, even if the first one has ended.
func TestAGroupIsAwaitedToItsLastProcess(t *testing.T) {
	first := exec.Command("/bin/sh", "-c", "sleep 1000 & exit")
	first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, first.Start())
	group := first.Process.Pid
	require.NoError(t, first.Wait())
	assert.True(t, runs(group))
	brief, cancel := context.WithCancel(t.Context())
	cancel()
	awaitGroup(brief, group)
	require.NoError(t, syscall.Kill(-group, syscall.SIGKILL))
	awaitGroup(t.Context(), group)
	assert.False(t, runs(group))

	unread := exec.Command("true")
	unread.SysProcAttr = first.SysProcAttr
	require.NoError(t, unread.Start())
	require.Eventually(t, func() bool { return gone(unread.Process.Pid) }, long, time.Millisecond)
	assert.False(t, runs(unread.Process.Pid), "it has ended, although nobody has asked how")
	require.NoError(t, unread.Wait())
}

// gone reports whether a process has ended; it may still wait for its parent.
func gone(id int) bool {
	stat := file(fmt.Sprintf("/proc/%d/stat", id))
	return stat == "" || strings.Contains(stat, ") Z ")
}

// The command runs again and again, and at once when a program has begun or ended. It knows the term
// of the program for which it is to answer.
func TestTheCommandRunsAgainAndAgain(t *testing.T) {
	dir := t.TempDir()
	terms, bad := filepath.Join(dir, "terms"), filepath.Join(dir, "bad")
	command := fmt.Sprintf(`echo ".$HUSTINGS_TERM" >> %s; [ ! -e %s ]`, terms, bad)
	a := commanding(command, 10*long) // so only a change makes it run again in the time of this test
	m := member{name: "n", group: "g"}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.check(ctx, m.environment) }()
	ran := func(term string, times int) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Count(file(terms), "."+term+"\n") >= times }, long, time.Millisecond)
	}
	ran("", 1)
	a.begins(3)
	ran("3", 1)
	require.NoError(t, os.WriteFile(bad, nil, 0o600))
	a.ends()
	ran("", 2)
	require.Eventually(t, func() bool { return a.healthy(ctx) != nil }, long, time.Millisecond)
	assert.ErrorContains(t, a.healthy(ctx), "while no program runs here: exit status 1")
	end()
	<-ended
}

// No time passes in the bubble while the command runs.
func TestTheCommandRunsFourTimesWhileItsWordCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := filepath.Join(t.TempDir(), "runs")
		a := commanding("echo >> "+runs, counts)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); a.check(ctx, new(member).environment) }()
		<-time.After(3*counts - 1) // virtual time
		end()
		<-ended
		assert.Len(t, file(runs), 3*4)
	})
}

// Not even a command that cannot be killed, as on a disk that hangs, holds up the end of the node.
func TestACommandThatCannotBeKilledIsNotWaitedFor(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	// In a session of its own it is not reached, and the command is held up because its output is.
	a := commanding("setsid sh -c 'echo $$ > "+there+"; exec sleep 1000' & wait", long)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.check(ctx, new(member).environment) }()
	require.Eventually(t, func() bool { return strings.HasSuffix(file(there), "\n") }, long, time.Millisecond)
	end()
	<-ended
	assert.False(t, a.asked.IsZero(), "it is still under way")
	var id int
	_, err := fmt.Sscan(file(there), &id)
	require.NoError(t, err)
	assert.False(t, gone(id))
	require.NoError(t, syscall.Kill(id, syscall.SIGKILL))
}

// waiting is an election that runs until something is in a file.
type waiting struct {
	story
	file string
}

func (w *waiting) Run(context.Context) error {
	<-w.told
	for began := time.Now(); file(w.file) == "" && time.Since(began) < long; {
		<-time.After(time.Millisecond)
	}
	return nil
}

// The command runs as long as the node takes part.
func TestANodeRunsItsCommand(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	m := member{name: "n", group: "g", out: NewPrinter(io.Discard, true), ability: commanding("echo $HUSTINGS_NODE > "+there, long)}
	m.election = &waiting{story{told: make(chan struct{}), all: []elector.Status{{}}}, there}
	require.NoError(t, m.run(t.Context(), 3))
	assert.Equal(t, "n\n", file(there))
}
