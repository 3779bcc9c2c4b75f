package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// long is how long anything may take before a test gives up.
const long = 20 * time.Second

// pair is two watchdogs that a test gives orders.
type pair struct {
	outer           *exec.Cmd
	orders          *os.File
	output, reports *os.File
}

func startPair(t *testing.T) *pair {
	t.Helper()
	taken, orders, err := os.Pipe()
	require.NoError(t, err)
	reports, told, err := os.Pipe()
	require.NoError(t, err)
	output, printed, err := os.Pipe()
	require.NoError(t, err)
	p := &pair{outer: watchdogProcess(OuterWatchdog, taken, told), orders: orders, output: output, reports: reports}
	p.outer.Stdout, p.outer.Stderr = printed, printed
	require.NoError(t, p.outer.Start())
	for _, theirs := range []*os.File{taken, told, printed} {
		require.NoError(t, theirs.Close())
	}
	for _, ours := range []*os.File{reports, output} {
		require.NoError(t, ours.SetDeadline(time.Now().Add(long)))
	}
	t.Cleanup(func() {
		_ = orders.Close()
		assert.NoError(t, p.outer.Wait())
		assert.NoError(t, reports.Close())
		assert.NoError(t, output.Close())
	})
	return p
}

func (p *pair) order(t *testing.T, format string, args ...any) {
	t.Helper()
	_, err := fmt.Fprintf(p.orders, format+"\n", args...)
	require.NoError(t, err)
}

func (p *pair) run(t *testing.T, command string) { t.Helper(); p.order(t, "%s%q", orderRun, command) }

// says waits until the program has printed something, and returns it.
func (p *pair) says(t *testing.T, bytes int) string {
	t.Helper()
	said := make([]byte, bytes)
	_, err := io.ReadFull(p.output, said)
	require.NoError(t, err)
	return string(said)
}

// end waits until nothing is left that could print or report: neither a watchdog, nor the
// program, nor anything that it has started.
func (p *pair) end(t *testing.T) (output, report string) {
	t.Helper()
	printed, err := io.ReadAll(p.output)
	require.NoError(t, err)
	reported, err := io.ReadAll(p.reports)
	require.NoError(t, err)
	report, _, _ = strings.Cut(strings.TrimPrefix(string(reported), reportReady+"\n"), "\n")
	return string(printed), regexp.MustCompile(`^ended \d+ `).ReplaceAllString(report, "ended ") // however long it ran
}

// hidden starts processes in the ways in which they can be out of sight, each of which prints
// one letter, and goes on when it is asked to end.
const hidden = `trap "" TERM
(echo -n a; exec sleep 1000) &
((echo -n b; exec sleep 1000) &)
setsid sh -c 'echo -n c; exec sleep 1000' &
(setsid sh -c 'echo -n d; exec sleep 1000' &)
echo -n e
while :; do sleep 1000; done`

const hiddenLetters = 5

// inCgroups runs a test with a control group for the program, where one can be made, and
// without.
func inCgroups(t *testing.T, test func(t *testing.T, in cgroup)) {
	t.Helper()
	t.Run("without a control group", func(t *testing.T) { test(t, "") })
	t.Run("with a control group", func(t *testing.T) {
		c := newCgroup()
		if c == "" {
			t.Skip("this process may not make one")
		}
		test(t, c)
		assert.NoDirExists(t, string(c), "the watchdogs remove it")
	})
}

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

// A program that is asked to end, and all that it has started, get SIGTERM and nothing else, in
// whatever session and however they came to be; and the shell's end is not theirs.
func TestWhoIsAskedToEndMayTakeItsTime(t *testing.T) {
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

// The program is killed before anything is done that takes long where there are many
// processes, or where the processor is wanted by others: with it what has left its group.
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

// over says whether a process has ended; it may wait for its parent.
func over(id int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// What a program leaves behind that ends by itself is asked to end, and killed a little later.
func TestWhatIsLeftBehindEnds(t *testing.T) {
	p := startPair(t)
	p.run(t, `(trap "echo -n asked" TERM; echo -n .; while :; do sleep 0.01; done) & (setsid sleep 1000 &) ; sleep 0.1; exit 3`)
	output, report := p.end(t)
	assert.Equal(t, "ended exit status 3", report)
	assert.Contains(t, output, "asked")
}

func TestHowAProgramEndsIsReported(t *testing.T) {
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
	_, _ = fmt.Fprintf(p.orders, "%s%q\n", orderRun, "echo started") // nobody may be there to read it
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

// Orders that waited while a watchdog had no processor are obeyed before it looks at the
// deadline, which a later one may have moved.
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

// So does its loop: a deadline that has passed, and was moved by an order that has come, is no
// reason to end anything. Here the end of the orders is.
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

// That a child has ended wakes a watchdog once, and not for ever.
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

// No signal that can be handled ends or stops a watchdog, or keeps it from its work; the
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

// ignored are the signals that a process ignores, by the line of its status.
func ignored(t *testing.T, status string) (signals uint64) {
	t.Helper()
	_, line, found := strings.Cut(status, "\nSigIgn:")
	require.True(t, found, status)
	_, err := fmt.Sscanf(line, "%x", &signals)
	require.NoError(t, err)
	return signals
}

// runProgram runs a program under its watchdogs until it ends.
func runProgram(ctx context.Context, t *testing.T, p *program, lease func() (int64, bool)) error {
	t.Helper()
	p.every = time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, nil, lease) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(long):
		require.FailNow(t, "does not end")
		return nil
	}
}

func noLease() (int64, bool) { return 0, true }

func TestTheReasonIsTheProgramsOwn(t *testing.T) {
	p := &program{command: "/nonexistent 2> /dev/null"}
	err := runProgram(t.Context(), t, p, noLease)
	assert.EqualError(t, err, "the program has ended by itself: exit status 127")
	assert.Equal(t, 1, p.standby.failures, "it has failed at once")
}

// A lease that is not renewed ends the program, and that is what is told.
func TestTheReasonIsTheLease(t *testing.T) {
	end := monotonic() + int64(10*time.Millisecond)
	p := &program{command: "exec sleep 1000"}
	err := runProgram(t.Context(), t, p, func() (int64, bool) { return end, true })
	assert.EqualError(t, err, errLeaseRanOut.Error())
	assert.Zero(t, p.standby.failures, "it has not failed")
}

func TestTheReasonIsAWatchdog(t *testing.T) {
	p := &program{command: "kill -9 $PPID; exec sleep 1000"}
	err := runProgram(t.Context(), t, p, noLease)
	assert.ErrorContains(t, err, "because a watchdog was")
}

// If somebody kills both watchdogs, the control group is left, which the node knows.
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
	assert.ErrorContains(t, err, "because a watchdog was")
	id, err := os.ReadFile(ready)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(id)))
	require.NoError(t, err)
	assert.True(t, over(child))
}

// A program that ignores SIGTERM, in an office that ends, ends too, and so do watchdogs that
// somebody has stopped.
func TestTheOfficeEndsTheProgram(t *testing.T) {
	for name, command := range map[string]string{
		"stubborn":             `trap "" TERM; %s; while :; do sleep 1000; done`,
		"inner watchdog stops": `%s; kill -STOP $PPID; exec sleep 1000`,
		"outer watchdog stops": `%s; kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); exec sleep 1000`,
	} {
		for _, graceful := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, graceful=%v", name, graceful), func(t *testing.T) {
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

// What is reported first is the reason, unless it is that the watchdogs are ready.
func TestTheFirstReportButForReadyIsTheReason(t *testing.T) {
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
