// Leaders that leave their heartbeats to the node have quorums, too: those of the node's beats.

package metrics_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/rpc"
)

// sinceQuorum is the largest of the gauges of this name, and how many there are.
func sinceQuorum(t *testing.T, c *metrics.Collector) (longest time.Duration, leaders int) {
	t.Helper()
	for _, family := range gather(t, c) {
		if family.GetName() == "hustings_group_since_quorum_seconds" {
			for _, m := range family.GetMetric() {
				longest, leaders = max(longest, time.Duration(value(m)*float64(time.Second))), leaders+1
			}
		}
	}
	return longest, leaders
}

// In idle groups nothing happens for a minute, and a quorum answers all the time. Then none answers any more.
func TestALeaderThatRestsReportsTheQuorumsOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 5
		network, collectors, hosts := rpc.NewNetwork(1), [3]*metrics.Collector{}, [3]*elector.Host{}
		network.SetAll(rpc.Link{Delay: time.Millisecond})
		for i := range hosts {
			self := fmt.Sprint("n", i)
			collectors[i] = metrics.New(metrics.PerGroup())
			host, err := elector.NewHost(elector.HostConfig{
				Self: self, Store: new(memberstate.MemStore), Transport: network.Join(self), Metrics: collectors[i].Elector(),
			})
			require.NoError(t, err)
			hosts[i] = host
			_, err = host.JoinAll(func(yield func(elector.GroupConfig) bool) {
				for g := range groups {
					if !yield(elector.GroupConfig{
						Group: fmt.Sprint("g", g), Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(), Leases: g%2 == 0,
						LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
					}) {
						return
					}
				}
			})
			require.NoError(t, err)
			require.NoError(t, host.StartAll())
		}
		<-time.After(time.Minute)
		synctest.Wait()
		led := 0
		for _, c := range collectors {
			longest, leaders := sinceQuorum(t, c)
			assert.Less(t, longest, elector.DefaultTiming().Detection())
			assert.GreaterOrEqual(t, figures(t, c)["hustings_quorum_seconds"], 500*min(leaders, 1), "a minute has 600 beats")
			led += leaders
		}
		assert.Equal(t, groups, led)
		network.SetAll(rpc.Link{Cut: true})
		<-time.After(3 * elector.DefaultTiming().Heartbeat)
		for _, c := range collectors {
			if longest, leaders := sinceQuorum(t, c); leaders > 0 {
				assert.Greater(t, longest, 2*elector.DefaultTiming().Heartbeat)
			}
		}
		for _, h := range hosts {
			_ = h.Close(t.Context())
		}
	})
}

func TestTheLeadersOfACohortHaveTheSameQuorums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.PerGroup())
		told := m.Elector()
		for _, name := range []string{"a", "b", "c"} {
			told.Changed(elector.Status{Group: name, Term: 3, Leader: "n0", Role: memberstate.Leader})
		}
		told.Rests("a", 1)
		told.Rests("b", 1)
		told.Rests("c", 2)
		since := func(group string) int { return figures(t, m)["hustings_group_since_quorum_seconds "+group] }
		<-time.After(2 * time.Second)
		told.CohortHeard(1, time.Millisecond)
		assert.Equal(t, 1, figures(t, m)["hustings_quorum_seconds"], "once for both")
		<-time.After(time.Second)
		assert.Equal(t, []int{1, 1, 3}, []int{since("a"), since("b"), since("c")})
		told.Rests("a", 0)
		<-time.After(time.Second)
		told.CohortHeard(1, time.Millisecond)
		assert.Equal(t, []int{2, 0, 4}, []int{since("a"), since("b"), since("c")}, "it begins with what it has")
		told.Rests("b", 2)
		<-time.After(time.Second)
		told.CohortHeard(1, time.Millisecond)
		told.CohortHeard(2, time.Millisecond)
		assert.Equal(t, []int{3, 0, 0}, []int{since("a"), since("b"), since("c")})
		told.Rests("nobody's", 1)
		told.Rests("nobody's", 0)
	})
}
