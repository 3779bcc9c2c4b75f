// The program is started only when it may run, and only with a deadline, and its end is waited
// for.

package node

import (
	"context"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// ordered returns the node's side of watchdogs that do not exist, and a function that returns
// the orders to them. It can be called once.
func ordered(t *testing.T) (w *watched, orders func() string) {
	t.Helper()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	w = &watched{orders: to, cgroup: "/group", socket: "/socket", ready: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{})}
	return w, func() string {
		_ = to.Close() // listen may have closed it
		text, err := io.ReadAll(from)
		require.NoError(t, err)
		require.NoError(t, from.Close())
		return string(text)
	}
}

// The deadline and the control group come before the program, which must not run a moment
// without them.
func TestTheProgramIsOrderedAfterItsDeadline(t *testing.T) {
	w, orders := ordered(t)
	require.NoError(t, w.launch(7, "exec \"$0\""))
	assert.Equal(t, "until 7\ncgroup \"/group\"\nsocket \"/socket\"\nrun \"exec \\\"$0\\\"\"\n", orders())
	assert.EqualValues(t, 7, w.until)
}

// On a busy machine the start of the watchdogs takes long. A deadline that was asked for before may have passed.
func TestTheDeadlineIsAskedForWhenTheWatchdogsAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, orders := ordered(t)
		asked, started := make(chan struct{}), make(chan error, 1)
		go func() {
			started <- new(program).start(t.Context(), w, 3, func() (int64, bool) {
				close(asked)
				return 7, true
			})
		}()
		synctest.Wait()
		select {
		case <-asked:
			assert.Fail(t, "they are not ready")
		default:
		}
		close(w.ready)
		require.NoError(t, <-started)
		assert.Contains(t, orders(), "until 7\n")
	})
}

// A node that loses its processor while it reads two clocks gives its program no more time than the lease has.
func TestADeadlineIsNeverLaterThanTheLease(t *testing.T) {
	end, earliest, latest := time.Now().Add(time.Minute), int64(math.MaxInt64), int64(0)
	for range 1000 {
		latest = max(latest, until(end))
		rest := time.Until(end)
		earliest = min(earliest, monotonic()+int64(rest)) // in this order it is no earlier than the end
	}
	assert.LessOrEqual(t, latest, earliest)
}

func TestAProgramThatWasAskedToEndIsNotStarted(t *testing.T) {
	w, orders := ordered(t)
	w.ask()
	assert.ErrorIs(t, w.launch(7, "true"), errAsked)
	assert.Equal(t, "stop\n", orders())
}

// A node that is told to stop serves on while it looks for somebody to take over.
func TestTheProgramRunsUntilItsNodeIsDrained(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		w, orders := ordered(x.t)
		close(w.ended)
		x.leader.program = &program{running: w}
		x.writes() // nobody can yet
		ctx, stop := context.WithCancel(x.t.Context())
		leads, cancel := x.leader.untilOutOfService(ctx)
		defer cancel()
		stop()
		<-time.After(10 * time.Second)
		assert.False(x.t, w.asked.Load())
		x.catchUp()
		<-leads.Done()
		assert.True(x.t, x.leader.drained())
		assert.Equal(x.t, "stop\n", orders())
	})
	withTrio(t, time.Minute, nil, func(x *trio) {
		w, orders := ordered(x.t)
		x.leader.program = &program{running: w}
		time.AfterFunc(time.Second, func() { close(w.ended) })
		ctx, stop := context.WithCancel(x.t.Context())
		leads, cancel := x.leader.untilOutOfService(ctx)
		defer cancel()
		stop()
		<-leads.Done()
		assert.ErrorIs(x.t, w.orders.Close(), os.ErrClosed, "it has not ended within a detection time, and is killed")
		assert.Equal(x.t, "stop\n", orders())
	})
}

// marks returns a program that leaves a mark when it is started.
func marks(t *testing.T) (p *program, mark string) {
	t.Helper()
	mark = filepath.Join(t.TempDir(), "mark")
	return &program{command: "touch " + mark}, mark
}

// Lead may still be about to start the program when the office is paused, or the lease ends. It
// is not started then, and that is no failure of the program.
func TestAProgramIsNotStartedForAnOfficeThatIsOver(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, office := range map[string]func(p *program) (lease func() (int64, bool), ctx context.Context, err error){
		"paused before": func(p *program) (func() (int64, bool), context.Context, error) {
			assert.NoError(t, p.pause(ended, 3))
			return noLease, t.Context(), nil
		},
		"paused meanwhile": func(p *program) (func() (int64, bool), context.Context, error) {
			return func() (int64, bool) {
				assert.ErrorIs(t, p.pause(ended, 3), context.Canceled, "it waits for the watchdogs")
				return 0, true
			}, t.Context(), nil
		},
		"asked to end meanwhile": func(p *program) (func() (int64, bool), context.Context, error) {
			return func() (int64, bool) {
				assert.ErrorIs(t, p.askToEnd(ended), context.Canceled)
				return 0, true
			}, t.Context(), nil
		},
		"no lease": func(*program) (func() (int64, bool), context.Context, error) {
			return func() (int64, bool) { return monotonic() + int64(time.Hour), false }, t.Context(), errLeaseTooShort
		},
		"ended": func(*program) (func() (int64, bool), context.Context, error) {
			return func() (int64, bool) { return 0, false }, ended, context.Canceled
		},
	} {
		p, mark := marks(t)
		lease, ctx, want := office(p)
		err := runProgram(ctx, t, p, lease)
		if name == "ended" && err != nil { // whichever is noticed first
			err, want = nil, nil
		}
		assert.Equal(t, want, err, name)
		assert.NoFileExists(t, mark, name)
		assert.Zero(t, p.standby.failures, name)
		assert.Nil(t, p.running, name)
	}
	p, mark := marks(t)
	require.NoError(t, p.pause(t.Context(), 2))
	require.ErrorContains(t, runProgram(t.Context(), t, p, noLease), "by itself", "a pause is over with its term")
	assert.FileExists(t, mark)
}

// A watchdog that ends before it is ready does not hold up the node. The program counts as failed,
// because it would not run after the next election either.
func TestAWatchdogThatDoesNotWorkIsTheReason(t *testing.T) {
	p, mark := marks(t)
	p.every = time.Millisecond
	err := p.run(t.Context(), 3, []string{"HUSTINGS_TEST_BROKEN_WATCHDOG=1"}, noLease)
	require.ErrorContains(t, err, "because one of its watchdogs was")
	assert.NoFileExists(t, mark)
	assert.Equal(t, 1, p.standby.failures)
}

// The program gets its environment, and prints to the node's standard error, because the
// standard output has the node's events.
func TestTheProgramPrintsItsEnvironmentToStandardError(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	require.NoError(t, err)
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	p := &program{command: "echo $HUSTINGS_TERM", every: time.Millisecond}
	require.ErrorContains(t, p.run(t.Context(), 3, []string{"HUSTINGS_TERM=3"}, noLease), "exit status 0")
	printed, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, "3\n", string(printed))
	require.NoError(t, file.Close())
}

// The program has ended only when both watchdogs have, and not with the outer one alone.
func TestTheProgramHasEndedWhenBothWatchdogsHave(t *testing.T) {
	from, inner, err := os.Pipe()
	require.NoError(t, err)
	w, orders := ordered(t)
	w.cgroup, w.outer = "", exec.Command("true")
	require.NoError(t, w.outer.Start())
	go w.listen(from)
	_, err = inner.WriteString(reportReady + "\n" + reportLease + "\n")
	require.NoError(t, err)
	<-w.told
	require.Eventually(t, func() bool { return over(w.outer.Process.Pid) }, long, time.Millisecond)
	// The inner one can still report, because its end of the pipe is open.
	for range 3 {
		_, err = inner.WriteString(reportOther + "\n")
		require.NoError(t, err)
	}
	select {
	case <-w.ended:
		assert.Fail(t, "it has not ended")
	default:
	}
	require.NoError(t, inner.Close())
	<-w.ended
	assert.Equal(t, reportLease, w.report)
	assert.Empty(t, orders())
}

// Without a lease there is no deadline, so the node has to end a program whose outer watchdog
// does not obey.
func TestAWatchdogThatDoesNotObeyIsKilled(t *testing.T) {
	t.Parallel()
	p := &program{command: `kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); exec sleep 1000`}
	err := runProgram(t.Context(), t, p, func() (int64, bool) {
		p.mu.Lock()
		w := p.running
		p.mu.Unlock()
		for started := w.until != 0; started && w.extend(1<<62) == nil; {
		}
		return 1 << 62, true // never
	})
	assert.Error(t, err, "with either reason, because the program and the watchdog are killed at once")
}

// A pause is over when all processes of the program have ended, not only the first one. That
// office has not failed.
func TestAPauseWaitsForAllProcesses(t *testing.T) {
	t.Parallel()
	there := filepath.Join(t.TempDir(), "there")
	const polite = `trap "sleep 0.2; rm %s; exit" TERM; touch %s; while :; do sleep 0.01; done`
	p := &program{every: time.Millisecond, command: "sh -c '" + strings.ReplaceAll(polite, "%s", there) + "' & wait"}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context(), 3, nil, noLease) }()
	require.Eventually(t, func() bool { _, err := os.Stat(there); return err == nil }, long, time.Millisecond)
	require.NoError(t, p.pause(t.Context(), 3))
	assert.NoFileExists(t, there)
	require.NoError(t, <-ended, "it was asked to end")

	p.paused = 0
	go func() { ended <- p.run(t.Context(), 3, nil, noLease) }()
	require.Eventually(t, func() bool { _, err := os.Stat(there); return err == nil }, long, time.Millisecond)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.pause(impatient, 3), context.Canceled)
	require.NoError(t, <-ended)
	assert.NoFileExists(t, there, "Lead returns when it has ended, too")
	assert.Zero(t, p.standby.failures)
}

// An office that was too short for the program to work is not a failure of the program. A
// graceful program is asked to end, others are killed at once by watchdogs that obey.
func TestTheEndOfAnOfficeIsNoFailureOfTheProgram(t *testing.T) {
	for _, graceful := range []bool{false, true} {
		dir := t.TempDir()
		there, asked := filepath.Join(dir, "there"), filepath.Join(dir, "asked")
		p := &program{graceful: graceful, command: "trap 'touch " + asked + "; exit' TERM; touch " + there + "; while :; do sleep 0.01; done"}
		ctx, cancel := context.WithCancel(t.Context())
		var w *watched
		err := runProgram(ctx, t, p, func() (int64, bool) {
			if _, err := os.Stat(there); err == nil {
				p.mu.Lock()
				w = p.running
				p.mu.Unlock()
				cancel()
			}
			return monotonic() + int64(long), true
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, p.standby.failures)
		if graceful {
			assert.FileExists(t, asked)
		} else {
			assert.NoFileExists(t, asked)
		}
		assert.True(t, w.outer.ProcessState.Success(), "it has obeyed: %v", w.outer.ProcessState)
		cancel()
	}
}

// A program that has worked for a while is no longer one that fails again and again, also if it did not end by itself.
func TestAProgramThatHasWorkedHasNotFailed(t *testing.T) {
	for name, end := range map[string]func(p *program, leave func()){
		"it is asked to end": func(p *program, _ func()) { assert.NoError(t, p.askToEnd(t.Context())) },
		"its office ends":    func(_ *program, leave func()) { leave() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &program{command: "exec sleep 1000", standby: standby{failures: 3}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls, runs := 0, time.Time{}
			_ = runProgram(ctx, t, p, func() (int64, bool) { // the end of its office is an error
				switch calls++; {
				case calls == 2: // the first call is before the start
					runs = time.Now()
				case calls > 2 && time.Since(runs) >= atOnce:
					end(p, cancel)
				}
				return 0, calls == 1
			})
			assert.Zero(t, p.standby.failures)
		})
	}
}

// A graceful program has the rest of its lease to end. A watchdog that does not kill it then is killed.
func TestAGracefulProgramHasTheRestOfItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := ordered(t)
		w.cgroup, w.outer = "", exec.Command("true")
		require.NoError(t, w.outer.Run())
		w.until = monotonic() + int64(long)
		ended := make(chan struct{})
		go func() {
			w.finish(true)
			close(ended)
		}()
		cut := func() bool { _, err := w.orders.Stat(); return err != nil }
		<-time.After(long / 2)
		synctest.Wait()
		assert.False(t, cut())
		<-time.After(long/2 + stubborn)
		synctest.Wait()
		assert.True(t, cut())
		close(w.ended)
		<-ended
	})
}

// Without a lease there is no new deadline. A graceful program keeps its last one.
func TestALostLeaseMovesNoDeadline(t *testing.T) {
	seen, calls := filepath.Join(t.TempDir(), "seen"), 0
	p := &program{graceful: true, command: "while ! test -e " + seen + "; do sleep 0.01; done; exit 3"}
	err := runProgram(t.Context(), t, p, func() (int64, bool) {
		if calls++; calls == 10 {
			assert.NoError(t, os.WriteFile(seen, nil, 0o600))
		}
		if calls == 1 {
			return monotonic() + int64(long), true
		}
		return 1, false
	})
	assert.ErrorContains(t, err, "exit status 3")
}

// A program that has ended, and whose outer watchdog does not, holds up no node.
func TestAStoppedWatchdogOfAnEndedProgramIsKilled(t *testing.T) {
	t.Parallel()
	p := &program{command: `kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); exit 3`}
	assert.ErrorContains(t, runProgram(t.Context(), t, p, noLease), "exit status 3")
}

// The program ends with the office.
func TestAnOfficeEndsItsProgram(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	m := member{id: "n", out: NewPrinter(io.Discard, true), log: slog.New(slog.DiscardHandler)}
	m.elects(&holder{}, time.Millisecond, time.Minute, Config{Exec: "echo $$ > " + there + "; exec sleep 1000"})
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.lead(ctx, memberstate.Term(3)) }()
	require.Eventually(t, func() bool { info, err := os.Stat(there); return err == nil && info.Size() > 0 }, long, time.Millisecond)
	leave()
	select {
	case err := <-ended:
		assert.ErrorIs(t, err, context.Canceled)
	case <-time.After(long):
		require.FailNow(t, "Lead does not return")
	}
}

// A watchdog that cannot be started is an error, and leaves no open file behind.
func TestAWatchdogThatCannotBeStartedIsReported(t *testing.T) {
	tooLong := []string{"HUSTINGS_NOTHING=" + strings.Repeat("x", 1<<20)}
	w, err := startWatchdogs(tooLong, nil)
	require.ErrorIs(t, err, syscall.E2BIG)
	assert.Nil(t, w)
}

// A node that is not able to lead gives its program half the detection time to end before a handover.
func TestAProgramHasHalfTheDetectionTimeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := ordered(t)
		n := &node{member: member{ability: &ability{said: true}}, detection: time.Second}
		n.program = &program{running: w, ability: n.ability}
		paused := make(chan error, 1)
		go func() { paused <- n.pauseProgram(t.Context(), 3) }()
		killed := func() bool { _, err := w.orders.Stat(); return err != nil }
		<-time.After(n.detection/2 - 1)
		synctest.Wait()
		assert.False(t, killed())
		<-time.After(1)
		synctest.Wait()
		assert.True(t, killed())
		close(w.ended)
		assert.NoError(t, <-paused)
	})
}

// An office, a handover and an operator's order may meet at one program; the race detector tries its lock.
func TestAProgramMayBeAskedByMany(t *testing.T) {
	var p program
	var all sync.WaitGroup
	for _, ask := range []func(){
		func() { assert.NoError(t, p.pause(t.Context(), 3)) },
		func() { p.pausedIn(3) },
		func() { p.note(time.Millisecond, true) },
		func() { p.standsBack() },
		func() { p.set(nil) },
		func() { p.end(0) },
		func() { p.kill() },
	} {
		for range 2 {
			all.Go(func() {
				for range 100 {
					ask()
				}
			})
		}
	}
	all.Wait()
	assert.True(t, p.pausedIn(3))
}
