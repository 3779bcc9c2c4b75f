// The events that wake a watchdog, and those that do not.

package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Orders that waited while a watchdog had no processor are obeyed before it checks the
// deadline, because they may have moved it.
func TestADeadlineThatWasMovedInTimeEndsNothing(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	late, later := fmt.Sprint(orderUntil, monotonic()-1), fmt.Sprint(orderUntil, monotonic()+int64(time.Hour))
	_, err = fmt.Fprintf(out, "%s\n%s\n%s\n", late, later, orderStop)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	e, err := newEvents(in)
	require.NoError(t, err)
	defer e.close()
	together, more := e.wait(long)
	assert.Equal(t, []string{late, later, orderStop}, together)
	assert.True(t, more)
	_, more = e.wait(long)
	assert.False(t, more)
	_, more = e.wait(0)
	assert.True(t, more, "the end is told once")
	require.NoError(t, in.Close())

	passed, below, err := os.Pipe()
	require.NoError(t, err)
	w := watchdog{below: below}
	w.obeyAll(together)
	w.checkDeadlines()
	assert.False(t, w.killing)
	require.NoError(t, below.Close())
	told, err := io.ReadAll(passed)
	require.NoError(t, err)
	assert.Equal(t, later+"\n"+orderStop+"\n", string(told), "the other watchdog does not see the old one")
	require.NoError(t, passed.Close())
}

// The loop obeys first, too: a deadline that has passed, but was moved by a waiting order, ends
// nothing. Here only the end of the orders does.
func TestAWatchdogObeysBeforeItLooksAtTheDeadline(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	_, err = fmt.Fprintf(out, "%s%d\n", orderUntil, monotonic()+int64(time.Hour))
	require.NoError(t, err)
	require.NoError(t, out.Close())
	e, err := newEvents(in)
	require.NoError(t, err)
	reports, told, err := os.Pipe()
	require.NoError(t, err)
	w := watchdog{inner: true, until: monotonic(), reports: told, search: func(int) []process { return nil }}
	w.watch(e)
	e.close()
	require.NoError(t, errors.Join(in.Close(), told.Close()))
	text, err := io.ReadAll(reports)
	require.NoError(t, err)
	require.NoError(t, reports.Close())
	assert.Equal(t, reportOther+"\n", string(text))
}

// The end of a child wakes a watchdog once, and not again and again.
func TestTheEndOfAChildWakesAWatchdogOnce(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	e, err := newEvents(in)
	require.NoError(t, err)
	wakes := []unix.PollFd{{Fd: int32(e.ended.Fd()), Events: unix.POLLIN}}
	e.signals <- syscall.SIGCHLD
	require.Eventually(t, func() bool { n, err := unix.Poll(wakes, 0); return err == nil && n == 1 }, long, time.Millisecond)
	orders, more := e.wait(long)
	assert.Empty(t, orders)
	assert.True(t, more)
	n, err := unix.Poll(wakes, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	e.close()
	require.NoError(t, errors.Join(in.Close(), out.Close()))
}

// A watchdog sleeps no longer than until the first of its deadlines.
func TestAWatchdogWakesForItsDeadline(t *testing.T) {
	in := func(d time.Duration) int64 { return monotonic() + int64(d) }
	for name, w := range map[string]*watchdog{
		"lease":     {until: in(time.Minute)},
		"leftovers": {until: in(time.Hour), limit: in(time.Minute)},
		"both":      {until: in(time.Minute), limit: in(time.Hour)},
	} {
		assert.LessOrEqual(t, w.sleeps(), time.Minute, name)
	}
	late := watchdog{until: monotonic()}
	assert.Zero(t, late.sleeps())
}

// No signal that can be ignored ends or stops a watchdog, or keeps it from its work. The
// program ignores no more signals than this process does.
func TestSignalsDoNothingToAWatchdog(t *testing.T) {
	p := startPair(t)
	const look = `echo; grep SigIgn /proc/self/status`
	p.run(t, look+"; ls -l /proc/self/fd; echo END; exec sleep 1000")
	said := ""
	for !strings.HasSuffix(said, "END\n") {
		said += p.says(t, 1)
	}
	own, err := exec.Command("/bin/sh", "-c", look).Output()
	require.NoError(t, err)
	assert.Zero(t, ignored(t, said)&^ignored(t, string(own)))
	for _, pipe := range []*os.File{p.orders, p.reports} {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()))
		require.NoError(t, err)
		assert.NotContains(t, said, name, "the program has a file of the watchdogs")
	}
	hit := 0
	for _, d := range append(descendants(p.outer.Process.Pid), process{id: p.outer.Process.Pid}) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", d.id))
		require.NoError(t, err)
		if strings.TrimSpace(string(name)) != watchdogName {
			continue
		}
		hit++
		for _, s := range []syscall.Signal{
			syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN,
			syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGABRT,
		} {
			require.NoError(t, syscall.Kill(d.id, s))
		}
	}
	require.Equal(t, 2, hit)
	p.order(t, orderUntil+"%d", monotonic()+int64(time.Millisecond))
	_, report := p.end(t)
	assert.Equal(t, reportLease, report)
}

// ignored returns the signals that a process ignores, from a line of its status.
func ignored(t *testing.T, status string) (signals uint64) {
	t.Helper()
	_, line, found := strings.Cut(status, "\nSigIgn:")
	require.True(t, found, status)
	_, err := fmt.Sscanf(line, "%x", &signals)
	require.NoError(t, err)
	return signals
}
