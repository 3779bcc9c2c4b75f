//go:build linux

// Nodes of an older version are replaced by nodes of this one, one after the other, and back. A client and a program use the
// leader meanwhile. HUSTINGS_TEST_OLD names the older version: a commit, branch or tag of this repository.
//
// The test asserts what must hold between any two versions: no term has two leaders, there is always a leader
// again, and a store that the one has written is read by the other. It logs how long clients had no leader.

package processes_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
)

// olderBinary builds the command as it was in the older version.
func olderBinary(t *testing.T) (path string) {
	t.Helper()
	ref := os.Getenv("HUSTINGS_TEST_OLD")
	if ref == "" {
		t.Skip("HUSTINGS_TEST_OLD names no older version: make upgrade OLD=v0.1.0")
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "hustings-older")
	for _, step := range []string{
		`cd "$(git rev-parse --show-toplevel)" && git archive --output "$DIR/source.tar" "$REF"`,
		`mkdir "$DIR/source" && tar -xf "$DIR/source.tar" -C "$DIR/source" && rm "$DIR/source.tar"`,
		`cd "$DIR/source/cmd/hustings" && GOWORK="$DIR/source/go.work" go build -o "$DIR/hustings-older" .`,
	} {
		cmd := exec.Command("/bin/sh", "-c", step)
		cmd.Env = append(os.Environ(), "DIR="+dir, "REF="+ref)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", step, out)
	}
	return path
}

// client looks for the leader and asks it for something, all the time.
type client struct {
	c    *cluster
	http http.Client

	mu      sync.Mutex
	served  time.Time // when it was last served
	longest time.Duration
	refused int // by nodes that do not lead
	failed  int // no answer
}

// ask asks one node after the other, and the leader again and again, until the context ends.
func (l *client) ask(ctx context.Context) {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	defer l.http.CloseIdleConnections()
	for at := 0; ; {
		code := l.get(ctx, l.c.ids[at])
		if ctx.Err() != nil {
			return
		}
		if !l.note(code) {
			at = (at + 1) % len(l.c.ids)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *client) get(ctx context.Context, id string) (code int) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.c.pages[id]+"/leader", http.NoBody)
	if err != nil {
		return 0
	}
	answer, err := l.http.Do(q)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (l *client) note(code int) (served bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch code {
	case http.StatusOK:
		now := time.Now()
		l.longest, l.served = max(l.longest, now.Sub(l.served)), now
		return true
	case 0:
		l.failed++
	default:
		l.refused++
	}
	return false
}

// take returns what has happened since it was called last.
func (l *client) take() (longest time.Duration, refused, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest, refused, failed = l.longest, l.refused, l.failed
	l.longest, l.refused, l.failed = 0, 0, 0
	return longest, refused, failed
}

// roll is what one direction of an upgrade has shown, over all rounds.
type roll struct {
	longest, written latencies // without a leader for the client, and without a write of the program, in each roll
	away             latencies // of each node, from the signal until the next process is ready
	refused, failed  []int
	complaints       map[string]int // of both versions
	deserted         int            // nodes of this version that stopped as leaders, because they took all others for leaving
}

func (r *roll) report(t *testing.T, what string) {
	t.Helper()
	slices.Sort(r.refused)
	slices.Sort(r.failed)
	n := len(r.refused)
	t.Logf(`%s, %d times 3 nodes; medians, with the smallest and the largest:
  longest time without a leader for a client  %s
  longest time without a write of a program   %s
  a node is away for                          %s
  requests refused by nodes that do not lead  %d (%d to %d)
  requests without an answer                  %d (%d to %d)`,
		what, n, r.longest.spread(), r.written.spread(), r.away.spread(), r.refused[n/2], r.refused[0], r.refused[n-1], r.failed[n/2], r.failed[0], r.failed[n-1])
	for _, line := range slices.Sorted(maps.Keys(r.complaints)) {
		t.Logf("logged %d times: %s", r.complaints[line], line)
	}
}

// spread is the median, the smallest and the largest.
func (l latencies) spread() string {
	slices.Sort(l)
	at := func(i int) time.Duration { return l[i].Round(time.Millisecond) }
	return fmt.Sprintf("%v (%v to %v)", at(len(l)/2), at(0), at(len(l)-1))
}

func TestNodesOfAnOlderVersionAreReplacedAndBack(t *testing.T) {
	older := olderBinary(t)
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(how.String(), func(t *testing.T) {
			for _, leases := range []bool{false, true} {
				t.Run(fmt.Sprintf("leases=%v", leases), func(t *testing.T) { rollAll(t, older, how, leases) })
			}
		})
	}
}

// rollAll replaces all nodes of a cluster, from the older version to this one and back, again and again.
func rollAll(t *testing.T, older string, how syscall.Signal, leases bool) {
	t.Helper()
	d := openDiary(t)
	c := newCluster(t, clusterOptions{size: 3, flags: []string{fmt.Sprintf("--leases=%v", leases), "--exec", workers}, journal: d, pages: true, older: older})
	c.ready(c.ids...)
	l := &client{c: c, served: time.Now()}
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	asking.Go(func() { l.ask(ctx) })
	up, back := &roll{complaints: map[string]int{}}, &roll{complaints: map[string]int{}}
	for round, more := 0, campaign(t, 3); more(round); round++ {
		c.roll(d, l, how, "", up, round == 0)
		c.roll(d, l, how, older, back, round == 0)
	}
	up.report(t, "to this version, "+how.String())
	back.report(t, "back to the older version, "+how.String())
	assert.Zero(t, back.deserted, "nodes of this version hand over to those of the older one")
	if leases {
		assert.True(t, slices.IsSortedFunc(d.read(t), func(a, b entry) int { return cmp.Compare(a.term, b.term) }), "no program writes after that of a later term")
	}
}

// roll replaces each node by one that runs another binary; empty: this one.
func (c *cluster) roll(d *diary, l *client, how syscall.Signal, to string, r *roll, tells bool) {
	c.t.Helper()
	c.works(d)
	l.take()
	began := now()
	for _, id := range c.ids {
		at := time.Now()
		p := c.nodes[id]
		c.signal(id, how)
		<-p.ended
		if how == syscall.SIGTERM {
			require.NoError(c.t, p.err, "%s: %s", id, p.stderr)
		}
		r.hears(p.stderr.String(), c.older[id] == "")
		c.older[id] = to
		c.start(id)
		c.ready(id)
		r.away = append(r.away, time.Since(at))
		c.ready(c.ids...)
		c.works(d)
		if asked := slices.IndexFunc(c.ids, func(id string) bool { return c.older[id] == "" }); tells && asked >= 0 {
			out, err := c.run("nodes", "--address", c.listen[c.ids[asked]], "--tls", c.dir, "--as", "alice")
			require.NoError(c.t, err)
			c.t.Logf("%s was replaced (%v):\n%s", id, how, out)
		}
	}
	longest, refused, failed := l.take()
	r.longest, r.refused, r.failed = append(r.longest, longest), append(r.refused, refused), append(r.failed, failed)
	r.written = append(r.written, d.longestGap(c.t, began))
}

// works waits until the program of the newest leader works.
func (c *cluster) works(d *diary) {
	c.t.Helper()
	c.awaitStaff(d, c.leaderAfter(0))
}

// varies is what differs between warnings of one kind.
var varies = regexp.MustCompile(` (node|remote|term|peer)=\S+`)

// hears takes in the warnings and errors of a process that has ended.
func (r *roll) hears(log string, current bool) {
	for line := range strings.Lines(log) {
		if _, said, _ := strings.Cut(line, " "); strings.Contains(said, "level=WARN") || strings.Contains(said, "level=ERROR") {
			r.complaints[strings.TrimSpace(varies.ReplaceAllString(said, ""))]++
			if current && strings.Contains(said, protocol.StuckLeaving.String()) {
				r.deserted++
			}
		}
	}
}

// ready waits until nodes say that they are ready.
func (c *cluster) ready(ids ...string) {
	c.t.Helper()
	for _, id := range ids {
		require.Eventually(c.t, func() bool {
			answer, err := http.Get("http://" + c.pages[id] + "/readyz")
			if err != nil {
				return false
			}
			return assert.NoError(c.t, answer.Body.Close()) && answer.StatusCode == http.StatusOK
		}, patience, time.Millisecond, "%s is not ready", id)
	}
	http.DefaultClient.CloseIdleConnections()
}

// longestGap is the longest time between two writes since then.
func (d *diary) longestGap(t *testing.T, since int64) (longest time.Duration) {
	t.Helper()
	last := since
	for _, e := range d.read(t) {
		if e.at > last {
			longest, last = max(longest, time.Duration(e.at-last)), e.at
		}
	}
	return longest
}
