package metrics_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/rpc"
)

// gather returns everything that a collector yields.
func gather(t *testing.T, c *metrics.Collector) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	return families
}

// figures returns everything that a collector yields, by name and labels, rounded.
func figures(t *testing.T, c *metrics.Collector) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, family := range gather(t, c) {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = int(math.Round(value(m)))
		}
	}
	return all
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	default:
		return float64(m.GetHistogram().GetSampleCount())
	}
}

func TestAVoterWithoutAQuorumReportsNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.PerGroup())
		el, err := elector.New(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0"), Metrics: m.Elector()}, elector.GroupConfig{
			Group: "g", Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		require.NoError(t, el.Start())
		<-time.After(10 * time.Second)
		synctest.Wait()
		now := figures(t, m)
		assert.Equal(t, 1, now["hustings_group_role g candidate"])
		assert.Equal(t, 0, now["hustings_group_role g leader"])
		assert.Equal(t, 10, now["hustings_group_leaderless_seconds_total g"])
		assert.Positive(t, now["hustings_rounds_started_total pre-vote"])
		assert.Positive(t, now["hustings_rounds_ended_total WAIT_TO_REVOTE pre-vote"])
		assert.Positive(t, now["hustings_messages_sent_total vote"])
		assert.NotContains(t, now, "hustings_group_since_quorum_seconds g")
		require.NoError(t, el.Stop(t.Context()))
		assert.NotContains(t, figures(t, m), "hustings_group_term g", "a group that has ended has no gauges")
	})
}

func TestALeaderReportsItsQuorums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.PerGroup())
		told := m.Elector()
		told.Changed(elector.Status{Group: "g", Term: 3, Role: memberstate.Candidate})
		told.Changed(elector.Status{Group: "g", Term: 3, Leader: "n0", Role: memberstate.Leader})
		<-time.After(2 * time.Second)
		assert.Equal(t, 2, figures(t, m)["hustings_group_since_quorum_seconds g"])
		told.QuorumHeard("g", time.Millisecond)
		<-time.After(time.Second)
		now := figures(t, m)
		assert.Equal(t, 1, now["hustings_group_since_quorum_seconds g"])
		assert.Equal(t, 1, now["hustings_quorum_seconds"])
		assert.Equal(t, 3, now["hustings_group_term g"])
		assert.Zero(t, now["hustings_group_leaderless_seconds_total g"])
		told.Changed(elector.Status{Group: "g", Term: 3, Leader: "n0", Role: memberstate.Leader, Revision: 2})
		assert.Equal(t, 1, figures(t, m)["hustings_group_since_quorum_seconds g"], "it is the same office")
		told.Changed(elector.Status{Group: "g", Term: 4, Leader: "n0", Role: memberstate.Leader})
		assert.Zero(t, figures(t, m)["hustings_group_since_quorum_seconds g"], "a quorum has elected it")
		told.Answered("g", 0, rpc.Accept)
		assert.Equal(t, 1, figures(t, m)["hustings_vote_answers_total "+rpc.Mark(0).String()+" "+rpc.Accept.String()])
		told.Saved(1, time.Millisecond, nil)
		told.Saved(2, time.Millisecond, nil)
		told.Saved(2, time.Millisecond, assert.AnError)
		now = figures(t, m)
		assert.Equal(t, 2, now["hustings_saves_total done"])
		assert.Equal(t, 1, now["hustings_saves_total failed"])
		assert.Equal(t, 5, now["hustings_saved_records_total"])
	})
}

// The time without a leader grows, however often other things change.
func TestTheTimeWithoutALeaderGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.PerGroup())
		told := m.Elector()
		for term := range memberstate.Term(3) {
			told.Changed(elector.Status{Group: "g", Term: term})
			<-time.After(time.Second)
		}
		assert.Equal(t, 3, figures(t, m)["hustings_group_leaderless_seconds_total g"])
		for revision := range uint64(2) {
			told.Changed(elector.Status{Group: "g", Term: 3, Leader: "n1", Revision: revision})
			<-time.After(time.Second)
		}
		assert.Equal(t, 3, figures(t, m)["hustings_group_leaderless_seconds_total g"])
	})
}

func TestADisksSyncsAreTimed(t *testing.T) {
	m := metrics.New()
	store, err := memberstate.CreateFileOn(m.Disk(memberstate.OSDisk()), t.TempDir()+"/n0", "n0")
	require.NoError(t, err)
	before := figures(t, m)["hustings_fsync_seconds"]
	require.NoError(t, store.Save([]memberstate.Record{{Group: "g"}}))
	require.NoError(t, store.Close())
	assert.Greater(t, figures(t, m)["hustings_fsync_seconds"], before)
}

// slowDisk has files whose syncs take a second.
type slowDisk struct{ memberstate.Disk }

func (slowDisk) Open(string) (memberstate.File, error)   { return slowFile{}, nil }
func (slowDisk) Create(string) (memberstate.File, error) { return slowFile{}, nil }

type slowFile struct{ memberstate.File }

func (slowFile) Sync() error {
	<-time.After(time.Second)
	return nil
}

// After a restart a store goes on in a file that is there already.
func TestASyncLastsAsLongAsTheDiskTakes(t *testing.T) {
	for name, begin := range map[string]func(memberstate.Disk, string) (memberstate.File, error){
		"a new file": memberstate.Disk.Create, "a file of before": memberstate.Disk.Open,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := metrics.New()
			f, err := begin(m.Disk(slowDisk{}), "x")
			require.NoError(t, err)
			require.NoError(t, f.Sync())
			assert.InDelta(t, 1, histogram(t, m, "hustings_fsync_seconds").GetSampleSum(), 1e-9, name)
		})
	}
}

// histogram is the one of this name.
func histogram(t *testing.T, c *metrics.Collector, name string) *dto.Histogram {
	t.Helper()
	for _, family := range gather(t, c) {
		if family.GetName() == name {
			return family.GetMetric()[0].GetHistogram()
		}
	}
	require.FailNow(t, "there is no such histogram", name)
	return nil
}

func TestHistogramsAreInSeconds(t *testing.T) {
	const took = 1500 * time.Millisecond
	for what, c := range map[string]struct {
		name    string
		observe func(*elector.Metrics)
	}{
		"saves":                        {"hustings_save_seconds", func(told *elector.Metrics) { told.Saved(1, took, nil) }},
		"quorums of a leader":          {"hustings_quorum_seconds", func(told *elector.Metrics) { told.QuorumHeard("g", took) }},
		"quorums of leaders that rest": {"hustings_quorum_seconds", func(told *elector.Metrics) { told.CohortHeard(1, took) }},
	} {
		m := metrics.New()
		c.observe(m.Elector())
		c.observe(m.Elector())
		h := histogram(t, m, c.name)
		assert.EqualValues(t, 2, h.GetSampleCount(), what)
		assert.InDelta(t, 3, h.GetSampleSum(), 1e-9, what)
	}
}

// A quantile says nothing if all that is usual lies within one bucket.
func TestHistogramsTellFastFromSlow(t *testing.T) {
	m := metrics.New()
	for _, name := range []string{"hustings_save_seconds", "hustings_fsync_seconds", "hustings_quorum_seconds"} {
		buckets := histogram(t, m, name).GetBucket()
		require.NotEmpty(t, buckets, name)
		assert.LessOrEqual(t, buckets[0].GetUpperBound(), 0.0001, "%s: a fast disk, or network", name)
		assert.GreaterOrEqual(t, buckets[len(buckets)-1].GetUpperBound(), 5.0, "%s: one that hangs", name)
		for i := range buckets[1:] {
			assert.LessOrEqual(t, buckets[i+1].GetUpperBound(), 3*buckets[i].GetUpperBound(), name)
		}
	}
}

func TestRepairsOfAStoreAreCounted(t *testing.T) {
	m := metrics.New()
	told := m.Store()
	told.Mended(3)
	told.Torn()
	told.NextFile(assert.AnError)
	now := figures(t, m)
	assert.Equal(t, 3, now["hustings_store_mended_sectors_total"])
	assert.Equal(t, 1, now["hustings_store_torn_saves_total"])
	assert.Equal(t, 1, now["hustings_store_next_file_failed"])
	told.NextFile(nil)
	assert.Zero(t, figures(t, m)["hustings_store_next_file_failed"])
}

func TestNamesAndHelpFollowTheConventions(t *testing.T) {
	problems, err := testutil.CollectAndLint(metrics.New(metrics.PerGroup()))
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// Every event is counted once, with its own labels.
func TestEachCounterHasItsLabels(t *testing.T) {
	m := metrics.New(metrics.PerGroup())
	told := m.Elector()
	told.Asked("g", rpc.PreVote)
	told.Judged("g", rpc.PreVote, protocol.WaitToRevote)
	told.Answered("h", rpc.PreVote, rpc.Accept)
	told.BeatSent("n1")
	told.BeatSent("n2")
	told.Dropped(protocol.DropStaleAnswer, 3)
	told.Dropped(protocol.DropStaleAnswer, 4)
	told.Sent("n1", []rpc.Message{{Body: rpc.Body{Kind: rpc.VoteRequest}}, {Body: rpc.Body{Kind: rpc.Heartbeat}}, {Body: rpc.Body{Kind: rpc.VoteRequest}}})
	now := figures(t, m)
	for name, want := range map[string]int{
		"hustings_rounds_started_total " + rpc.PreVote.String():                                      1,
		"hustings_rounds_ended_total " + protocol.WaitToRevote.String() + " " + rpc.PreVote.String(): 1,
		"hustings_vote_answers_total " + rpc.PreVote.String() + " " + rpc.Accept.String():            1,
		"hustings_beats_sent_total": 2,
		"hustings_inputs_dropped_total " + protocol.DropStaleAnswer.String(): 7,
		"hustings_messages_sent_total " + rpc.VoteRequest.String():           2,
		"hustings_messages_sent_total " + rpc.Heartbeat.String():             1,
	} {
		assert.Equal(t, want, now[name], name)
	}
	told.QuorumHeard("nobody's", time.Second)
	assert.NotContains(t, figures(t, m), "hustings_group_since_quorum_seconds nobody's")
}

// A group that has ended begins anew: its time without a leader starts with its new beginning.
func TestAGroupThatEndedBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.PerGroup())
		told := m.Elector()
		told.Changed(elector.Status{Group: "g", Term: 1})
		<-time.After(time.Minute)
		told.Changed(elector.Status{Group: "g", Term: 1, Stopped: true})
		<-time.After(time.Minute)
		told.Changed(elector.Status{Group: "g", Term: 1})
		<-time.After(3 * time.Second)
		assert.Equal(t, 3, figures(t, m)["hustings_group_leaderless_seconds_total g"])
		told.Changed(elector.Status{Group: "g", Term: 1, Leader: "n1"})
		<-time.After(time.Minute)
		told.Changed(elector.Status{Group: "g", Term: 2})
		<-time.After(2 * time.Second)
		assert.Equal(t, 5, figures(t, m)["hustings_group_leaderless_seconds_total g"])
	})
}

// failingDisk is a disk whose files cannot be opened, and later cannot be synced.
type failingDisk struct {
	memberstate.Disk
	have bool
}

func (d failingDisk) Create(string) (memberstate.File, error) {
	if d.have {
		return unsynced{}, nil
	}
	return nil, assert.AnError
}

type unsynced struct{ memberstate.File }

func (unsynced) Sync() error { return assert.AnError }

// A timed disk returns the errors of the disk below, and also times a sync that fails.
func TestATimedDiskReturnsTheErrorsOfItsDisk(t *testing.T) {
	m := metrics.New()
	f, err := m.Disk(failingDisk{}).Create("x")
	require.ErrorIs(t, err, assert.AnError)
	assert.Nil(t, f)
	f, err = m.Disk(failingDisk{have: true}).Create("x")
	require.NoError(t, err)
	require.ErrorIs(t, f.Sync(), assert.AnError)
	assert.Equal(t, 1, figures(t, m)["hustings_fsync_seconds"])
}

func TestTheCauseOfAnInabilityIsReported(t *testing.T) {
	m := metrics.New(metrics.PerGroup())
	status := elector.Status{Group: "g", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n0", Inability: protocol.NotAbleDisk}
	m.Elector().Changed(status)
	assert.Equal(t, 1, figures(t, m)["hustings_group_unable disk g"])
	status.Inability = protocol.Able
	m.Elector().Changed(status)
	assert.NotContains(t, figures(t, m), "hustings_group_unable disk g")
}
