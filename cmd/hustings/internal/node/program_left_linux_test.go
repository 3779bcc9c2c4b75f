// What is left of a program when its main process has ended: it ends with the office, and otherwise a second later. Until
// then the node goes on extending its lease.

package node

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// halfDead plays a test with a program whose main process has ended, and whose other processes have not. It was asked
// to end, or not. The test has to end with the office, or with the program.
func halfDead(t *testing.T, test func(t *testing.T, end context.CancelFunc, w *watched, orders func() string)) {
	t.Helper()
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprintf("asked=%v", asked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, orders := ordered(t)
				w.cgroup, w.outer, w.report = "", exec.Command("true"), reportEnded+"1 exit status 3"
				require.NoError(t, w.outer.Run())
				if asked {
					w.ask()
				}
				p, calls := &program{every: 100 * time.Millisecond}, int64(0)
				ctx, end := context.WithCancel(t.Context())
				var attending sync.WaitGroup
				attending.Go(func() { _ = p.attend(ctx, w, func() (int64, bool) { calls++; return calls, true }) })
				close(w.told)
				synctest.Wait()
				test(t, end, w, orders)
				end()
				close(w.ended)
				attending.Wait()
			})
		})
	}
}

// isCut says whether the watchdogs get no more orders, so that they end the program.
func (w *watched) isCut() bool { _, err := w.orders.Stat(); return err != nil }

func TestTheEndOfAnOfficeEndsWhatIsLeftAtOnce(t *testing.T) {
	halfDead(t, func(t *testing.T, end context.CancelFunc, w *watched, _ func() string) {
		t.Helper()
		assert.False(t, w.isCut())
		end()
		synctest.Wait() // and no time passes
		assert.True(t, w.isCut())
	})
}

// A node that stops extending the deadline would lose its office for a program that may still end in time.
func TestTheDeadlineFollowsTheLeaseWhileTheProgramEnds(t *testing.T) {
	halfDead(t, func(t *testing.T, _ context.CancelFunc, w *watched, orders func() string) {
		t.Helper()
		<-time.After(350 * time.Millisecond)
		synctest.Wait()
		assert.False(t, w.isCut())
		assert.Equal(t, "until 1\nuntil 2\nuntil 3\n", strings.TrimPrefix(orders(), "stop\n"))
	})
}

// The watchdogs kill what is left. If they do not, because one of them is stopped, they are told to end.
func TestWatchdogsThatKeepWhatIsLeftAreToldToEnd(t *testing.T) {
	halfDead(t, func(t *testing.T, _ context.CancelFunc, w *watched, _ func() string) {
		t.Helper()
		<-time.After(leftoversGrace + stubborn - 1)
		synctest.Wait()
		assert.False(t, w.isCut())
		<-time.After(1)
		synctest.Wait()
		assert.True(t, w.isCut())
	})
}

// A shell obeys, and its child does not. After a second the child is killed, the operator reads that, and Lead returns.
func TestWhatIsLeftIsKilledAfterASecond(t *testing.T) {
	for name, lease := range map[string]func() (int64, bool){
		"without leases": noLease,
		"with leases":    func() (int64, bool) { return monotonic() + int64(long), true },
	} {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, asked=%v", name, asked), func(t *testing.T) {
				t.Parallel()
				there := filepath.Join(t.TempDir(), "there")
				end := map[bool]string{false: "until test -e %[1]s; do sleep 0.01; done; exit 3", true: "wait"}[asked]
				var logged bytes.Buffer
				p := &program{log: slog.New(slog.NewTextHandler(&logged, nil)), command: fmt.Sprintf(
					`sh -c 'trap "" TERM; echo $$ > %[1]s.new; mv %[1]s.new %[1]s; exec sleep 1000' & `+end, there)}
				ended := make(chan error, 1)
				p.every = time.Millisecond
				go func() { ended <- p.run(t.Context(), 3, nil, lease) }()
				require.Eventually(t, func() bool { _, err := os.Stat(there); return err == nil }, long, time.Millisecond)
				if asked {
					require.NoError(t, p.pause(t.Context(), 3))
					require.NoError(t, <-ended)
				} else {
					require.ErrorContains(t, <-ended, "exit status 3")
				}
				text, err := os.ReadFile(there)
				require.NoError(t, err)
				child, err := strconv.Atoi(strings.TrimSpace(string(text)))
				require.NoError(t, err)
				assert.True(t, over(child))
				assert.Contains(t, logged.String(), "the main process of the program has ended")
				assert.Contains(t, logged.String(), "term=3 processes=1\n")
			})
		}
	}
}

// Processes that have ended and wait for their parents are not there any more, and if no others are, nothing is to be said.
func TestOnlyProcessesThatRunAreLeft(t *testing.T) {
	for _, c := range []struct {
		found []process
		said  []string
	}{
		{[]process{{id: 1, ended: true}}, []string{reportNode}},
		{[]process{{id: 1, ended: true}, {id: 1 << 30}, {id: 1 << 30}}, []string{reportLeft + "2", reportNode}},
	} {
		w := &watchdog{inner: true, limit: monotonic(), search: func(int) []process { return c.found }}
		reports := reporting(t, w)
		w.checkDeadlines()
		w.checkDeadlines() // it says so once
		assert.True(t, w.killing)
		assert.Equal(t, c.said, reports())
	}
}
