// What operators are told: why a handover failed, why a leader went, and that members
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

// diary is what was logged.
type diary struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func (d *diary) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// obstaclesOf is why a transfer failed, by voter.
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

// inTownWithDiary is inTown with what is logged.
func inTownWithDiary(t *testing.T, change func(*config), play func(*town, *diary)) {
	t.Helper()
	log := new(diary)
	inTown(t, 3, func(c *config) {
		c.Logger = log.logger()
		if change != nil {
			change(c)
		}
	}, func(town *town) { play(town, log) })
}

func TestATransferSaysWhatIsInTheWay(t *testing.T) {
	inTownWithDiary(t, nil, func(town *town, log *diary) {
		ctx := context.Background()
		leader := town.leader()
		silent, other := town.others(leader)[0], town.others(leader)[1]
		town.cut(silent.id, true)
		town.pass(time.Second)
		err := leader.el.TransferLeadership(ctx, silent.id)
		assert.Equal(t, map[string]protocol.Obstacle{silent.id: {Voter: silent.id, Hindrance: protocol.HinderedSilent}}, obstaclesOf(t, err))
		assert.EqualError(t, err, "elector: leadership was not transferred: "+silent.id+" is silent")
		assert.Contains(t, log.String(), silent.id+" is silent")

		town.network.ReportLost(silent.id)
		town.pass(2 * time.Second)
		err = leader.el.TransferLeadership(ctx, silent.id)
		assert.ErrorContains(t, err, silent.id+" is dead or cut off: its connection broke 2.3")
		assert.Equal(t, memberstate.Leader, leader.el.Status().Role, "it leads on")
		require.NoError(t, leader.el.TransferLeadership(ctx, other.id))
	})
}

// A process that was reported gone, and was heard of since, is not silent because of that.
func TestALossThatIsOverIsNoReason(t *testing.T) {
	inTown(t, 3, nil, func(town *town) {
		leader := town.leader()
		silent := town.others(leader)[0]
		town.network.ReportLost(silent.id)
		town.pass(time.Second)
		town.cut(silent.id, true)
		town.pass(time.Second)
		err := leader.el.TransferLeadership(context.Background(), silent.id)
		assert.EqualError(t, err, "elector: leadership was not transferred: "+silent.id+" is silent")
	})
}

// poor has n2 miss five entries that the others have.
func poor(c *config) {
	end := memberstate.Position{Index: 7}
	if c.Self == "n2" {
		end.Index = 2
	}
	c.LedgerEnd = func(memberstate.Term) memberstate.Position { return end }
}

func TestATransferToWhoIsBehindSaysByHowMuch(t *testing.T) {
	inTownWithDiary(t, poor, func(town *town, log *diary) {
		leader := town.leader()
		require.NotEqual(t, "n2", leader.id)
		err := leader.el.TransferLeadership(context.Background(), "n2")
		assert.Equal(t, map[string]protocol.Obstacle{"n2": {
			Voter: "n2", Hindrance: protocol.HinderedBehind, Ledger: memberstate.Position{Index: 2}, Goal: memberstate.Position{Index: 7},
		}}, obstaclesOf(t, err))
		assert.ErrorContains(t, err, "(5 entries are missing)")
		assert.Contains(t, log.String(), "(5 entries are missing)")
	})
}

// If anyone will do, it says of each what is in the way.
func TestATransferToAnyoneSaysWhatIsInEveryonesWay(t *testing.T) {
	inTownWithDiary(t, poor, func(town *town, log *diary) {
		leader := town.leader()
		silent := town.others(leader)[0]
		town.cut(silent.id, true)
		town.pass(time.Second)
		found := obstaclesOf(t, leader.el.TransferLeadership(context.Background(), ""))
		assert.Len(t, found, 2)
		assert.Equal(t, protocol.HinderedSilent, found[silent.id].Hindrance)
		assert.Equal(t, protocol.HinderedBehind, found["n2"].Hindrance)
		assert.Contains(t, log.String(), silent.id+" is silent; n2 is behind")
	})
}

func TestATransferWhoseWritesCannotBePausedSaysSo(t *testing.T) {
	inTownWithDiary(t, func(c *config) {
		c.Pause = func(context.Context, memberstate.Term) error { return context.DeadlineExceeded }
	}, func(town *town, _ *diary) {
		leader := town.leader()
		to := town.others(leader)[0].id
		err := leader.el.TransferLeadership(context.Background(), to)
		assert.ErrorContains(t, err, to+" could take over, but writes here could not be paused: context deadline exceeded")
	})
}

func TestItIsToldWhyALeaderWent(t *testing.T) {
	inTownWithDiary(t, nil, func(town *town, _ *diary) {
		ctx := context.Background()
		saw := func(n *node, leader string, why elector.Departure) {
			t.Helper()
			s := n.el.Status()
			assert.Equal(t, leader, s.LastLeader)
			assert.Equal(t, why, s.Departure, s.Departure.String())
		}
		first := town.leader()
		second := town.others(first)[0]
		saw(second, "", 0)
		require.NoError(t, first.el.TransferLeadership(ctx, second.id))
		town.leader()
		saw(first, first.id, protocol.DepartedHandedOver)
		saw(second, first.id, protocol.DepartedHandedOver)

		town.cut(second.id, true)
		town.pass(time.Second)
		saw(second, second.id, protocol.DepartedNoQuorum)
		saw(first, second.id, protocol.DepartedSilent)
		town.cut(second.id, false)
		third := town.leader()
		town.pass(time.Second)
		town.cut(third.id, true)
		town.network.ReportLost(third.id)
		town.pass(20 * time.Millisecond)
		saw(town.others(third)[0], third.id, protocol.DepartedDisconnected)
		town.cut(third.id, false)
		fourth := town.leader()
		for _, other := range town.others(fourth) {
			town.network.SetLink(other.id, fourth.id, rpc.Link{Cut: true})
		}
		require.NoError(t, fourth.el.Resign(ctx))
		saw(fourth, fourth.id, protocol.DepartedResigned)
	})
}

func TestAReportMeasures(t *testing.T) {
	inTown(t, 3, func(c *config) {
		c.Leases = true
		c.Preferred = []string{"n1"}
		c.LedgerEnd = func(memberstate.Term) memberstate.Position { return memberstate.Position{Index: 5} }
	}, func(town *town) {
		ctx := context.Background()
		leader := town.leader()
		town.pass(time.Second + 50*time.Millisecond)
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

		town.cut(leader.id, true)
		town.pass(200 * time.Millisecond)
		r, err = leader.el.Report(ctx)
		require.NoError(t, err)
		assert.Greater(t, r.QuorumAge, 200*time.Millisecond)
		town.pass(time.Second)
		r, err = leader.el.Report(ctx)
		require.NoError(t, err)
		assert.Zero(t, r.Lease)
		assert.Zero(t, r.QuorumAge, "it leads no more")
		town.cut(leader.id, false)
		require.NoError(t, town.end(leader))
		r, err = leader.el.Report(ctx)
		require.NoError(t, err)
		assert.True(t, r.Stopped)
	})
}

// Once a minute, with both terms and the peer, and it is counted each time.
func TestMembersThatAreTooFarApartAreTold(t *testing.T) {
	log := new(diary)
	synctest.Test(t, func(t *testing.T) {
		network := rpc.NewNetwork(1)
		o := newOutsider(t, network, "n1")
		defer o.stop()
		c := goodConfig()
		c.Transport, c.Logger = network.Join("n0"), log.logger()
		members, err := memberstate.NewMembers(c.Members)
		require.NoError(t, err)
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		require.NoError(t, el.Start())
		defer func() { assert.NoError(t, el.Stop(context.Background())) }()
		far := rpc.Message{
			Group: "g", From: "n1", To: "n0", Voters: members.Digest(),
			Body: rpc.Body{Kind: rpc.Heartbeat, Term: 3 * memberstate.MaxTermStep, Round: 1},
		}
		say := func() {
			o.transport.Send("n0", []rpc.Message{far})
			<-time.After(time.Second)
			synctest.Wait()
		}
		before := el.Host().Dropped(protocol.DropImpossibleTerm)
		for range 59 {
			say()
		}
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
		assert.Contains(t, log.String(), "group=g peer=n1 peer_term=3298534883328 term=0")
		say()
		say()
		assert.Equal(t, 2, strings.Count(log.String(), "level=WARN"))
		assert.Contains(t, log.String(), "more_untold=59")
		for range 60 {
			say()
		}
		assert.Equal(t, 2, strings.Count(log.String(), "more_untold=59"), "they are counted anew")
		assert.Equal(t, before+121, el.Host().Dropped(protocol.DropImpossibleTerm))
	})
}

// A member that lies leads one of the others, in steps that are just small enough, so
// far away that it and the third never hear each other again. The one that is behind
// says so, and agrees again when its term has been raised.
func TestALiarSplitsAGroupAndAnOperatorMendsIt(t *testing.T) {
	log := new(diary)
	synctest.Test(t, func(t *testing.T) {
		town := newTown(t, 3, func(c *config) { c.Logger = log.logger() })
		liar := newOutsider(t, town.network, "n1")
		defer liar.stop()
		town.start("n0")
		town.start("n2")
		defer town.close()
		members, err := memberstate.NewMembers(memberstate.Voters(town.ids...))
		require.NoError(t, err)
		town.cut("n2", true) // it must not follow
		town.pass(time.Millisecond)
		for step := range memberstate.Term(2) {
			liar.transport.Send("n0", []rpc.Message{{
				Group: "g", From: "n1", To: "n0", Voters: members.Digest(),
				Body: rpc.Body{Kind: rpc.Heartbeat, Term: (step + 1) * memberstate.MaxTermStep, Round: 1},
			}})
			town.pass(10 * time.Millisecond)
		}
		town.cut("n2", false)
		far, behind := town.nodes["n0"], town.nodes["n2"]
		town.pass(10 * time.Second)
		require.Greater(t, far.el.Status().Term, behind.el.Status().Term+memberstate.MaxTermStep)
		assert.Empty(t, far.el.Status().Leader)
		assert.Empty(t, behind.el.Status().Leader)
		assert.Contains(t, log.String(), "peer=n0 peer_term=")
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"))

		to := far.el.Status().Term
		require.NoError(t, town.end(behind))
		r, _, err := behind.store.Load("g")
		require.NoError(t, err)
		r.Term, r.Vote = to, "" // as hustings store raise does
		require.NoError(t, behind.store.Save([]memberstate.Record{r}))
		town.start("n2")
		assert.GreaterOrEqual(t, town.leader().el.Status().Term, to, "nobody but the liar has led that term")
	})
}

// An offer to a preferred leader that cannot take over is told like any handover that failed, but
// more quietly, because it is made again and again.
func TestItIsToldWhyAPreferredLeaderDoesNotLead(t *testing.T) {
	log := new(diary)
	inTown(t, 3, func(c *config) {
		c.Logger, c.Preferred = slog.New(slog.NewTextHandler(log, nil)), []string{"n1"}
		if c.Self != "n1" {
			c.LedgerEnd = func(memberstate.Term) memberstate.Position { return memberstate.Position{Index: 7} }
		}
	}, func(town *town) {
		assert.NotEqual(t, "n1", town.leader().id)
		town.pass(time.Minute)
	})
	assert.Regexp(t, `level=INFO msg="leadership was not transferred" group=g term=\d+ reason="n1 is behind: .*7 entries are missing`, log.String())
}
