// For how long two tables of leaders differ. Clients route by whichever they read, so for that time some of them ask the old leader.

package elector_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// tables are three nodes with some groups, and when the table of each node had each leader.
type tables struct {
	t       *testing.T
	network *rpc.Network
	hosts   []*elector.Host
	groups  int
	begun   time.Time

	mu   sync.Mutex
	seen map[office][]time.Duration // by node; zero: not yet
}

// office is a term of a group that has a leader.
type office struct {
	group string
	term  memberstate.Term
}

// withTables plays a test with nodes whose messages take some time, and whose tables are read.
func withTables(t *testing.T, delay time.Duration, play func(s *tables)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &tables{t: t, network: rpc.NewNetwork(1), groups: 100, begun: time.Now(), seen: make(map[office][]time.Duration)}
		s.network.SetAll(rpc.Link{Delay: delay, Jitter: delay})
		ctx, cancel := context.WithCancel(t.Context())
		var reading sync.WaitGroup
		for i := range 3 {
			host, err := elector.NewHost(elector.HostConfig{Self: fmt.Sprint("n", i), Store: new(memberstate.MemStore), Transport: s.network.Join(fmt.Sprint("n", i))})
			require.NoError(t, err)
			for g := range s.groups {
				join(t, host, fmt.Sprint("g", g), "n0", "n1", "n2")
			}
			require.NoError(t, host.StartAll())
			s.hosts = append(s.hosts, host)
			reading.Go(func() { s.read(ctx, host, i) })
		}
		<-time.After(10 * time.Second)
		play(s)
		for _, host := range s.hosts {
			require.NoError(t, host.Close(endedContext()))
		}
		cancel()
		reading.Wait()
	})
}

// read notes when a node's table has each leader.
func (s *tables) read(ctx context.Context, host *elector.Host, node int) {
	for rows := range host.WatchBatches(ctx, 256) {
		now := time.Since(s.begun)
		s.mu.Lock()
		for _, row := range rows {
			if row.Leader == "" {
				continue
			}
			key := office{row.Group, row.Term}
			if s.seen[key] == nil {
				s.seen[key] = make([]time.Duration, 3)
			}
			if s.seen[key][node] == 0 {
				s.seen[key][node] = now
			}
		}
		s.mu.Unlock()
	}
}

// forget forgets what was seen until now.
func (s *tables) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
}

// differ is for how long the tables of these nodes have differed at most about a leader that has been elected since forget, and how many
// leaders that were.
func (s *tables) differ(nodes ...int) (longest time.Duration, offices int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, times := range s.seen {
		first, last := times[nodes[0]], times[nodes[0]]
		for _, node := range nodes {
			require.NotZero(s.t, times[node], "n%d has never had the leader of %v", node, key)
			first, last = min(first, times[node]), max(last, times[node])
		}
		longest = max(longest, last-first)
	}
	return longest, len(s.seen)
}

// handOverAll has the leader of each group hand over.
func (s *tables) handOverAll() {
	for g := range s.groups {
		for _, host := range s.hosts {
			if el := host.Elector(fmt.Sprint("g", g)); el.Status().Role == memberstate.Leader {
				require.NoError(s.t, el.TransferLeadership(s.t.Context(), ""))
				break
			}
		}
	}
	<-time.After(time.Second)
}

// link makes the links of n0 to the others.
func (s *tables) link(l rpc.Link) {
	for _, other := range []string{"n1", "n2"} {
		s.network.SetLink("n0", other, l)
		s.network.SetLink(other, "n0", l)
	}
}

// When a leader hands over, and when its node falls silent, all tables have the new one within two delays of a message: the new leader
// knows first, and the others with its first heartbeat. A node that was cut off is behind until it hears of each leader.
func TestTwoTablesDifferForLessThanASecond(t *testing.T) {
	for _, most := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} { // what a message takes
		withTables(t, most/2, func(s *tables) {
			s.forget()
			s.handOverAll()
			longest, offices := s.differ(0, 1, 2)
			s.t.Logf("a message takes %v: tables differ for at most %v after %d handovers", most, longest, offices)
			assert.GreaterOrEqual(s.t, offices, s.groups)
			assert.LessOrEqual(s.t, longest, most)

			s.forget()
			s.link(rpc.Link{Cut: true})
			<-time.After(10 * time.Second)
			longest, offices = s.differ(1, 2)
			s.t.Logf("a message takes %v: tables differ for at most %v after a silence, with %d new leaders", most, longest, offices)
			assert.Positive(s.t, offices)
			assert.LessOrEqual(s.t, longest, most)

			healed := time.Since(s.begun)
			s.link(rpc.Link{Delay: most / 2, Jitter: most / 2})
			<-time.After(10 * time.Second)
			last := s.behind(0, healed)
			s.t.Logf("a message takes %v: the node that was silent has the last leader after %v", most, last)
			assert.LessOrEqual(s.t, last, time.Second)
		})
	}
}

// behind is how long after this time the table of a node had the last of the leaders that were elected since forget.
func (s *tables) behind(node int, since time.Duration) (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, times := range s.seen {
		require.NotZero(s.t, times[node], "n%d has never had the leader of %v", node, key)
		longest = max(longest, times[node]-since)
	}
	return longest
}
