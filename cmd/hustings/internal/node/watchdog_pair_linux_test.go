// Two watchdogs under a test's orders.

package node

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// long is the time after which a test gives up.
const long = 20 * time.Second

// pair is two watchdogs under a test's orders.
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

// end waits until the watchdogs, the program and all its descendants have ended, so that
// nothing can print or report any more.
func (p *pair) end(t *testing.T) (output, report string) {
	t.Helper()
	printed, err := io.ReadAll(p.output)
	require.NoError(t, err)
	reported, err := io.ReadAll(p.reports)
	require.NoError(t, err)
	report, _, _ = strings.Cut(strings.TrimPrefix(string(reported), reportReady+"\n"), "\n")
	return string(printed), regexp.MustCompile(`^ended \d+ `).ReplaceAllString(report, "ended ") // however long it ran
}

// hidden starts processes in all the ways that hide them from their ancestors. Each prints one
// letter, and ignores SIGTERM.
const hidden = `trap "" TERM
(echo -n a; exec sleep 1000) &
((echo -n b; exec sleep 1000) &)
setsid sh -c 'echo -n c; exec sleep 1000' &
(setsid sh -c 'echo -n d; exec sleep 1000' &)
echo -n e
while :; do sleep 1000; done`

const hiddenLetters = 5

// inCgroups runs a test without a control group for the program and, if one can be made, with
// one.
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
