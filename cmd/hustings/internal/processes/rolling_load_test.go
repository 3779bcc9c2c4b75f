//go:build linux

// All nodes are started again one after the other while clients ask the leader, as in a rolling update. Clients notice nothing but
// the handovers, and nobody is elected because it had to notice that a leader is gone.

package processes_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/rpc"
)

// HUSTINGS_TEST_LONG goes on rolling for that long.
func TestClientsAreServedWhileAllNodesAreStartedAgain(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clusterOptions{size: size, flags: []string{"--leases"}, pages: true})
			r := &restarts{cluster: c, led: c.leaderAfter(0), told: map[string]int64{}}
			c.ready(c.ids...)
			calls, stop := c.call()
			r.calls = calls
			defer func() {
				stop()
				assert.Empty(t, lost(calls.all), "accepted by a leader after its successor has accepted a request")
				accepted, refused := calls.assertAccepted(t, r.told)
				t.Logf("%d nodes: %d restarts with %d handovers, and %d more while the machine was too busy; %d requests accepted, %d not", size, r.calm, r.handovers, r.busy, accepted, refused)
			}()
			for round, more := 0, campaign(t, 1); more(round); round++ {
				for _, id := range c.ids {
					r.restart(id)
				}
			}
		})
	}
}

// restarts starts nodes again, one after the other.
type restarts struct {
	*cluster
	calls                 *callers
	led                   node.Event
	told                  map[string]int64 // when processes were told to stop
	calm, handovers, busy int
}

// restart starts a node again. There is one more term if the node has led, and it was handed over; else there is none. On a machine
// that is too busy others may stand of their own accord just then. Then this is tried again, at whoever leads if the node has led.
func (r *restarts) restart(id string) {
	r.t.Helper()
	for range maxTries {
		r.settle()
		led, before := r.led, r.rounds(id)
		r.told[r.process(id)] = now()
		r.replace(id)
		r.settle()
		stood := r.rounds(id)
		stood.subtract(before)
		if stood.alone > 0 {
			r.busy++
			if led.Node == id {
				id = r.led.Node
			}
			r.t.Logf("a node was started again while %s led term %d, and others stood of their own accord: %+v", led.Node, led.Term, stood)
			continue
		}
		r.calm++
		if led.Node == id {
			r.handovers++
			r.assertHandedOver(led, stood)
		} else {
			assert.Equal(r.t, led.Term, r.led.Term, "%s was started again, which did not lead", id)
			assert.Zero(r.t, stood.handed)
		}
		return
	}
	require.FailNow(r.t, "each time somebody stands of its own accord", id)
}

// process is the running one of a node.
func (c *cluster) process(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range slices.Backward(c.events) {
		if e.Event == "start" && e.Node == id {
			return e.Process
		}
	}
	return ""
}

// replace stops a process, which drains, and starts the next one of its node.
func (r *restarts) replace(id string) {
	r.t.Helper()
	p := r.nodes[id]
	r.signal(id, syscall.SIGTERM)
	<-p.ended
	require.NoError(r.t, p.err, "%s: %s", id, p.stderr)
	r.start(id)
}

// settle waits until all nodes are ready and clients are served by the newest leader.
func (r *restarts) settle() {
	r.t.Helper()
	r.ready(r.ids...)
	r.led = r.newest()
	r.followed(r.led.Term)
	r.calls.served(r.led.Term)
}

// newest is the event of the leader with the largest term.
func (c *cluster) newest() (led node.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Event == "lead" && e.Term > led.Term {
			led = e
		}
	}
	return led
}

// assertHandedOver checks that the office of a node has ended by a handover to the next leader.
func (r *restarts) assertHandedOver(led node.Event, stood rounds) {
	r.t.Helper()
	assert.Equal(r.t, led.Term+1, r.led.Term, "a handover raises the term once")
	assert.NotEqual(r.t, led.Node, r.led.Node)
	assert.InDelta(r.t, 1, stood.handed, 0, "rounds of votes at the word of the leader")
	given := r.await(led.Node+" hands over", func(e node.Event) bool {
		return e.Event == "handover" && e.Process == led.Process && e.Term == led.Term
	})
	assert.Less(r.t, given.AtNanos, r.led.AtNanos)
}

// rounds are how many rounds of votes nodes have begun since they were started.
type rounds struct {
	handed float64 // because a leader has asked for it
	alone  float64 // of their own accord: in the end because they had heard no leader for too long
}

func (r *rounds) subtract(before rounds) {
	r.handed, r.alone = r.handed-before.handed, r.alone-before.alone
}

// rounds counts those of all nodes but one.
func (c *cluster) rounds(but string) (sum rounds) {
	c.t.Helper()
	for _, id := range c.ids {
		if id == but {
			continue
		}
		answer, err := http.Get("http://" + c.pages[id] + "/metrics")
		require.NoError(c.t, err)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			var count float64
			mark, rest, found := strings.Cut(strings.TrimPrefix(lines.Text(), `hustings_rounds_started_total{mark="`), `"} `)
			if !found || !strings.HasPrefix(lines.Text(), "hustings_rounds_started_total") {
				continue
			}
			_, err := fmt.Sscan(rest, &count)
			require.NoError(c.t, err)
			if mark == rpc.Handed.String() {
				sum.handed += count
			} else {
				sum.alone += count
			}
		}
		require.NoError(c.t, answer.Body.Close())
	}
	http.DefaultClient.CloseIdleConnections()
	return sum
}
