// Explanations for operators: why a handover failed, why a leader was given up, and that terms
// are too far apart.

package elector_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// logBuffer collects the log.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *logBuffer) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *logBuffer) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func (d *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// obstaclesOf returns the obstacles of a failed transfer, by voter.
func obstaclesOf(t *testing.T, err error) map[string]protocol.Obstacle {
	t.Helper()
	require.ErrorIs(t, err, elector.ErrTransferFailed)
	var failed *elector.TransferError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "g", failed.Group)
	found := map[string]protocol.Obstacle{}
	for _, o := range failed.Obstacles {
		found[o.Voter] = o
	}
	return found
}

// withLoggedCluster is withCluster for three nodes, with their log.
func withLoggedCluster(t *testing.T, change func(*config), play func(*cluster, *logBuffer)) {
	t.Helper()
	log := new(logBuffer)
	withCluster(t, 3, func(c *config) {
		c.Logger = log.logger()
		if change != nil {
			change(c)
		}
	}, func(cluster *cluster) { play(cluster, log) })
}

func TestATransferToASilentVoterSaysSo(t *testing.T) {
	withLoggedCluster(t, nil, func(cluster *cluster, log *logBuffer) {
		ctx := context.Background()
		leader := cluster.awaitLeader()
		silent, other := cluster.others(leader)[0], cluster.others(leader)[1]
		cluster.cut(silent.id)
		cluster.pass(time.Second)
		err := leader.el.TransferLeadership(ctx, silent.id)
		assert.Equal(t, map[string]protocol.Obstacle{silent.id: {Voter: silent.id, Hindrance: protocol.HinderedSilent}}, obstaclesOf(t, err))
		assert.EqualError(t, err, "elector: leadership was not transferred: "+silent.id+" is silent")
		synctest.Wait() // the line is logged aside
		assert.Contains(t, log.String(), silent.id+" is silent")

		cluster.network.ReportLost(silent.id)
		cluster.pass(2 * time.Second)
		err = leader.el.TransferLeadership(ctx, silent.id)
		assert.ErrorContains(t, err, silent.id+" is dead or cut off: its connection broke 2.3")
		assert.Equal(t, memberstate.Leader, leader.el.Status().Role, "it leads on")
		require.NoError(t, leader.el.TransferLeadership(ctx, other.id))
	})
}

// A voter whose connection broke and that was heard since is silent for another reason.
func TestABrokenConnectionThatIsOverIsNotTheReason(t *testing.T) {
	withCluster(t, 3, nil, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		silent := cluster.others(leader)[0]
		cluster.network.ReportLost(silent.id)
		cluster.pass(time.Second)
		cluster.cut(silent.id)
		cluster.pass(time.Second)
		err := leader.el.TransferLeadership(context.Background(), silent.id)
		assert.EqualError(t, err, "elector: leadership was not transferred: "+silent.id+" is silent")
	})
}

// n2Behind configures ledgers in which n2 lacks five entries that the others have.
func n2Behind(c *config) {
	end := memberstate.Position{Index: 7}
	if c.Self == "n2" {
		end.Index = 2
	}
	c.LedgerEnd = func(memberstate.Term) memberstate.Position { return end }
}

func TestATransferToAVoterThatIsBehindSaysByHowMuch(t *testing.T) {
	withLoggedCluster(t, n2Behind, func(cluster *cluster, log *logBuffer) {
		leader := cluster.awaitLeader()
		require.NotEqual(t, "n2", leader.id)
		err := leader.el.TransferLeadership(context.Background(), "n2")
		assert.Equal(t, map[string]protocol.Obstacle{"n2": {
			Voter: "n2", Hindrance: protocol.HinderedBehind, Ledger: memberstate.Position{Index: 2}, Goal: memberstate.Position{Index: 7},
		}}, obstaclesOf(t, err))
		assert.ErrorContains(t, err, "(5 entries are missing)")
		synctest.Wait() // the line is logged aside
		assert.Contains(t, log.String(), "(5 entries are missing)")
	})
}

func TestATransferToAnyVoterNamesTheObstacleOfEach(t *testing.T) {
	withLoggedCluster(t, n2Behind, func(cluster *cluster, log *logBuffer) {
		leader := cluster.awaitLeader()
		silent := cluster.others(leader)[0]
		cluster.cut(silent.id)
		cluster.pass(time.Second)
		found := obstaclesOf(t, leader.el.TransferLeadership(context.Background(), ""))
		assert.Len(t, found, 2)
		assert.Equal(t, protocol.HinderedSilent, found[silent.id].Hindrance)
		assert.Equal(t, protocol.HinderedBehind, found["n2"].Hindrance)
		synctest.Wait() // the line is logged aside
		assert.Contains(t, log.String(), silent.id+" is silent; n2 is behind")
	})
}

func TestATransferWhoseWritesCannotBePausedSaysSo(t *testing.T) {
	withLoggedCluster(t, func(c *config) {
		c.Pause = func(context.Context, memberstate.Term) error { return context.DeadlineExceeded }
	}, func(cluster *cluster, _ *logBuffer) {
		leader := cluster.awaitLeader()
		to := cluster.others(leader)[0].id
		err := leader.el.TransferLeadership(context.Background(), to)
		assert.ErrorContains(t, err, to+" could take over, but writes here could not be paused: context deadline exceeded")
	})
}

func TestTheStatusSaysWhyALeaderWasGivenUp(t *testing.T) {
	withLoggedCluster(t, nil, func(cluster *cluster, _ *logBuffer) {
		ctx := context.Background()
		saw := func(n *node, leader string, why elector.Departure) {
			t.Helper()
			s := n.el.Status()
			assert.Equal(t, leader, s.LastLeader)
			assert.Equal(t, why, s.Departure, s.Departure.String())
		}
		first := cluster.awaitLeader()
		second := cluster.others(first)[0]
		saw(second, "", 0)
		require.NoError(t, first.el.TransferLeadership(ctx, second.id))
		cluster.awaitLeader()
		saw(first, first.id, protocol.DepartedHandedOver)
		saw(second, first.id, protocol.DepartedHandedOver)

		cluster.cut(second.id)
		cluster.pass(time.Second)
		saw(second, second.id, protocol.DepartedNoQuorum)
		saw(first, second.id, protocol.DepartedSilent)
		cluster.reconnect(second.id)
		third := cluster.awaitLeader()
		cluster.pass(time.Second)
		cluster.cut(third.id)
		cluster.network.ReportLost(third.id)
		cluster.pass(20 * time.Millisecond)
		saw(cluster.others(third)[0], third.id, protocol.DepartedDisconnected)
		cluster.reconnect(third.id)
		fourth := cluster.awaitLeader()
		cluster.deafen(fourth)
		require.NoError(t, fourth.el.Resign(ctx))
		saw(fourth, fourth.id, protocol.DepartedResigned)
	})
}

func TestAReportMeasures(t *testing.T) {
	withCluster(t, 3, func(c *config) {
		c.Leases = true
		c.Preferred = []string{"n1"}
		c.LedgerEnd = func(memberstate.Term) memberstate.Position { return memberstate.Position{Index: 5} }
	}, func(cluster *cluster) {
		ctx := context.Background()
		leader := cluster.awaitLeader()
		cluster.pass(time.Second + 50*time.Millisecond)
		r, err := leader.el.Report(ctx)
		require.NoError(t, err)
		assert.Equal(t, leader.el.Status(), r.Status)
		assert.Equal(t, memberstate.Position{Index: 5}, r.Ledger)
		assert.Positive(t, r.Lease)
		assert.Less(t, r.Lease, elector.DefaultTiming().Detection())
		assert.Positive(t, r.QuorumAge)
		assert.Less(t, r.QuorumAge, elector.DefaultTiming().Heartbeat)
		assert.Equal(t, []string{"n1"}, leader.el.Preferred())
		assert.Equal(t, elector.DefaultTiming(), leader.el.Timing())

		cluster.cut(leader.id)
		cluster.pass(200 * time.Millisecond)
		r, err = leader.el.Report(ctx)
		require.NoError(t, err)
		assert.Greater(t, r.QuorumAge, 200*time.Millisecond)
		cluster.pass(time.Second)
		r, err = leader.el.Report(ctx)
		require.NoError(t, err)
		assert.Zero(t, r.Lease)
		assert.Zero(t, r.QuorumAge, "it leads no more")
		cluster.reconnect(leader.id)
		require.NoError(t, cluster.stop(leader))
		r, err = leader.el.Report(ctx)
		require.NoError(t, err)
		assert.True(t, r.Stopped)
	})
}

// An operator reads there why the leader is another one than he expects.
func TestAReportSaysWhetherAMemberIsToLead(t *testing.T) {
	withCluster(t, 3, func(c *config) { c.Preferred = []string{"n1"} }, func(cluster *cluster) {
		cluster.awaitLeader()
		cluster.pass(time.Second)
		require.NoError(t, cluster.nodes["n0"].el.Electable(false))
		cluster.pass(time.Second)
		for id, n := range cluster.nodes {
			r, err := n.el.Report(context.Background())
			require.NoError(t, err)
			assert.Equal(t, id == "n1", r.Preferred, id)
			assert.Equal(t, id == "n0", r.LastChoice, id)
			if id == "n0" {
				assert.Equal(t, time.Second, r.Unable)
			} else {
				assert.Zero(t, r.Unable, id)
			}
		}
	})
}

// The warning names both terms and the peer. It is logged once a minute, and each message is counted.
func TestTermsThatAreTooFarApartAreLogged(t *testing.T) {
	log, c := new(logBuffer), goodConfig()
	c.Logger = log.logger()
	withFakePeerAnd(t, "n1", c, func(o *fakePeer, el *elector.Elector, far rpc.Message) {
		far.Term = 3 * memberstate.MaxTermStep
		send := func(times int) {
			for range times {
				o.send(far)
				<-time.After(time.Second)
				synctest.Wait()
			}
		}
		before := el.Host().Dropped(protocol.DropImpossibleTerm)
		send(59)
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
		assert.Contains(t, log.String(), "group=g peer=n1 peer_term=3298534883328 term=0")
		send(2)
		assert.Equal(t, 2, strings.Count(log.String(), "level=WARN"))
		assert.Contains(t, log.String(), "more_untold=59")
		send(60)
		assert.Equal(t, 2, strings.Count(log.String(), "more_untold=59"), "the count begins anew")
		assert.Equal(t, before+121, el.Host().Dropped(protocol.DropImpossibleTerm))
	})
}

// A member that lies raises the term of one of the others, in steps just small enough, until that
// one and the third drop each other's messages for ever. The third logs it, and they agree again
// after an operator has raised its term.
func TestALiarSplitsAGroupAndAnOperatorRepairsIt(t *testing.T) {
	log := new(logBuffer)
	withNewCluster(t, 3, func(c *config) { c.Logger = log.logger() }, func(cluster *cluster) {
		liar := newFakePeer(t, cluster.network, "n1")
		defer liar.stop()
		cluster.start("n0")
		cluster.start("n2")
		cluster.cut("n2") // it must not follow
		cluster.pass(time.Millisecond)
		for step := range memberstate.Term(2) {
			liar.send(heartbeat(t, "n1", "n0", (step+1)*memberstate.MaxTermStep))
			cluster.pass(10 * time.Millisecond)
		}
		cluster.reconnect("n2")
		far, behind := cluster.nodes["n0"], cluster.nodes["n2"]
		cluster.pass(10 * time.Second)
		require.Greater(t, far.el.Status().Term, behind.el.Status().Term+memberstate.MaxTermStep)
		assert.Empty(t, far.el.Status().Leader)
		assert.Empty(t, behind.el.Status().Leader)
		synctest.Wait() // the line is logged aside
		assert.Contains(t, log.String(), "peer=n0 peer_term=")
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"))

		to := far.el.Status().Term
		require.NoError(t, cluster.stop(behind))
		r, _, err := behind.store.Load("g")
		require.NoError(t, err)
		r.Term, r.Vote = to, "" // as `hustings store raise` does
		require.NoError(t, behind.store.Save([]memberstate.Record{r}))
		cluster.start("n2")
		assert.GreaterOrEqual(t, cluster.awaitLeader().el.Status().Term, to, "only the liar has led that term")
	})
}

// An offer to a preferred leader that fails is logged at a lower level than other handovers, because
// it is repeated.
func TestTheLogSaysWhyAPreferredLeaderDoesNotLead(t *testing.T) {
	log := new(logBuffer)
	withCluster(t, 3, func(c *config) {
		c.Logger, c.Preferred = slog.New(slog.NewTextHandler(log, nil)), []string{"n1"}
		if c.Self != "n1" {
			c.LedgerEnd = func(memberstate.Term) memberstate.Position { return memberstate.Position{Index: 7} }
		}
	}, func(cluster *cluster) {
		assert.NotEqual(t, "n1", cluster.awaitLeader().id)
		cluster.pass(time.Minute)
	})
	assert.Regexp(t, `level=INFO msg="leadership was not transferred" group=g term=\d+ reason="n1 is behind: .*7 entries are missing`, log.String())
}
