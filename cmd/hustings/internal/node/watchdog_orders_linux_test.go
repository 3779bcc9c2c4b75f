// Orders that cannot be obeyed, and the signals that a watchdog sends.

package node

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reporting gives a watchdog a pipe for its reports, and returns a function that returns them. It
// can be called once.
func reporting(t *testing.T, w *watchdog) (reports func() []string) {
	t.Helper()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	w.reports = to
	if w.search == nil {
		w.search = func(int) []process { return nil }
	}
	return func() []string {
		require.NoError(t, to.Close())
		text, err := io.ReadAll(from)
		require.NoError(t, err)
		require.NoError(t, from.Close())
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// An order that a watchdog does not understand, or cannot obey, ends everything, and the report
// gives the reason.
func TestAnOrderThatCannotBeObeyedEndsTheProgram(t *testing.T) {
	for order, reason := range map[string]string{
		orderUntil + "noon":            `ended 0 strconv.ParseInt: parsing "noon": invalid syntax`,
		orderCgroup + "/sys/fs/cgroup": "ended 0 invalid syntax",
		orderSocket + "/tmp/socket":    "ended 0 invalid syntax",
		orderRun + "true":              "ended 0 invalid syntax",
		"go on":                        "ended 0 unknown order",
	} {
		w := &watchdog{inner: true}
		reports := reporting(t, w)
		w.obey(order)
		assert.True(t, w.killing, order)
		assert.False(t, w.started, order)
		assert.Equal(t, []string{reason, reportNode}, reports(), order)
	}
}

// An inner watchdog that does not read its orders was stopped. The outer one does not wait for
// it, because it must look at the deadline, too.
func TestAWatchdogThatDoesNotReadHoldsUpNoOther(t *testing.T) {
	unread, below, err := os.Pipe()
	require.NoError(t, err)
	w := &watchdog{below: below}
	reports := reporting(t, w)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range pipeSize { // more than the pipe takes
			w.obey(orderUntil + "0")
		}
	}()
	select {
	case <-ended:
	case <-time.After(long):
		require.FailNow(t, "it waits for the other one")
	}
	assert.True(t, w.killing)
	assert.Equal(t, []string{reportOther}, reports())
	require.NoError(t, below.Close())
	require.NoError(t, unread.Close())
}

// A watchdog that kills tries again soon, and then ever more rarely. It says only once why, and
// the pipe of reports cannot fill up.
func TestAWatchdogThatKillsTriesAgain(t *testing.T) {
	w := &watchdog{}
	reports := reporting(t, w)
	for i := range 20 {
		w.kill(reportLease)
		assert.Equal(t, min(time.Millisecond<<i, time.Second), w.sleeps())
		w.strike()
	}
	assert.Equal(t, []string{reportLease}, reports())
}

// Only the inner watchdog asks the program to end, so that every process gets one SIGTERM. If
// the program ends then, those that are left are asked no second time, and have a second to end.
func TestEveryProcessIsAskedOnce(t *testing.T) {
	asked := 0
	search := func(int) []process { asked++; return nil }
	outer, inner := &watchdog{search: search}, &watchdog{inner: true, search: search}
	said := reporting(t, inner)
	outer.ask()
	assert.Zero(t, asked)
	inner.ask()
	inner.childEnded(0)
	assert.Equal(t, 1, asked)
	assert.Positive(t, inner.limit)
	said()
}

// started starts a command as a watchdog starts the program, and waits until it has printed a
// line.
func started(t *testing.T, command string) *exec.Cmd {
	t.Helper()
	program := programProcess(command, nil)
	program.Stdout = nil
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	return program
}

// The program's process group gets a signal at one instant, even a process in it that was not
// found. The processes of the group that were found get no second one.
func TestAGroupGetsASignalOnce(t *testing.T) {
	group, other := started(t, "echo; exec sleep 1000"), started(t, "echo; exec sleep 1000")
	w := watchdog{child: group.Process.Pid, search: func(int) []process {
		return []process{{id: other.Process.Pid, group: group.Process.Pid}} // it is not, so that a signal would show
	}}
	w.signal(syscall.SIGKILL)
	require.ErrorContains(t, group.Wait(), "signal: killed")
	assert.False(t, over(other.Process.Pid))
	require.NoError(t, other.Process.Kill())
	require.Error(t, other.Wait())
}

// Once a child was waited for, its id may belong to any other process, and gets no signal.
func TestAChildThatHasEndedIsForgotten(t *testing.T) {
	program := started(t, "echo; exit 3")
	w := &watchdog{inner: true, child: program.Process.Pid, began: monotonic()}
	reports := reporting(t, w)
	require.Eventually(t, func() bool { return !w.reap() }, long, time.Millisecond)
	assert.Zero(t, w.child)
	assert.Regexp(t, `^ended \d+ exit status 3$`, reports()[0])
	require.ErrorIs(t, program.Wait(), syscall.ECHILD)
}

// A control group that cannot be entered does not keep the program from being started.
func TestAProgramIsStartedOutsideAControlGroupThatCannotBeEntered(t *testing.T) {
	p := startPair(t)
	p.order(t, "%s%q", orderCgroup, t.TempDir()) // which is not one
	p.run(t, "echo started")
	output, report := p.end(t)
	assert.Equal(t, "started\n", output)
	assert.Equal(t, "ended exit status 0", report)
}

// statField returns a field of a process; proc(5) numbers them.
func statField(t *testing.T, id, field int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[field-3])
	require.NoError(t, err)
	return n
}

// Signals to a group of processes, or from a terminal, reach either the node, or one watchdog,
// or the program.
func TestTheWatchdogsAndTheProgramShareNoGroup(t *testing.T) {
	const group, session = 5, 6
	p := startPair(t)
	p.run(t, "echo $PPID $$; exec sleep 1000")
	said := ""
	for !strings.HasSuffix(said, "\n") {
		said += p.says(t, 1)
	}
	ids := strings.Fields(said)
	inner, err := strconv.Atoi(ids[0])
	require.NoError(t, err)
	program, err := strconv.Atoi(ids[1])
	require.NoError(t, err)
	for _, watchdog := range []int{p.outer.Process.Pid, inner} {
		assert.Equal(t, watchdog, statField(t, watchdog, session))
		assert.Equal(t, watchdog, statField(t, watchdog, group))
	}
	assert.Equal(t, program, statField(t, program, group))
	require.NoError(t, p.orders.Close())
	p.end(t)
}

// If both watchdogs are killed, and there is no control group, the kernel kills the program.
func TestTheKernelEndsAProgramWithoutWatchdogs(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	p := startPair(t)
	p.run(t, `echo $$ > `+there+`; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID; exec sleep 1000`)
	p.end(t) // the program holds the pipe of its output
	assert.FileExists(t, there)
	require.ErrorContains(t, p.outer.Wait(), "signal: killed")
	p.outer = exec.Command("true")
	require.NoError(t, p.outer.Start())
}
