package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
)

// There are as many series for many groups as for one, unless those of each are asked for.
func TestTheNumberOfSeriesDoesNotGrowWithTheGroups(t *testing.T) {
	series := func(groups int, options ...metrics.Option) int {
		m := metrics.New(options...)
		told := m.Elector()
		for i := range groups {
			name := fmt.Sprint("g", i)
			told.Changed(elector.Status{Group: name, Term: 1, Role: memberstate.Leader, Leader: "n0"})
			told.Asked(name, 0)
			told.Judged(name, 0, protocol.Passed)
			told.Answered(name, 0, 0)
			told.QuorumHeard(name, time.Millisecond)
		}
		return len(figures(t, m))
	}
	assert.Equal(t, series(1), series(100))
	assert.Equal(t, series(1, metrics.PerGroup())+99*7, series(100, metrics.PerGroup()), "4 roles, the term and 2 times")
}

// Without PerGroup no metric has a group's name.
func TestSumsNameNoGroup(t *testing.T) {
	descs := make(chan *prometheus.Desc, 100)
	metrics.New().Describe(descs)
	close(descs)
	for d := range descs {
		assert.NotContains(t, strings.Split(d.String(), "variableLabels")[1], "group")
	}
}

// Every group is counted once in each of the sums, by its latest status.
func TestGroupsAreCountedByTheirLatestStatus(t *testing.T) {
	m := metrics.New()
	told := m.Elector()
	is := func(want map[string]int) {
		t.Helper()
		now := figures(t, m)
		for name, value := range want {
			assert.Equal(t, value, now["hustings_"+name], name)
		}
	}
	told.Changed(elector.Status{Group: "a", Term: 4, Role: memberstate.Candidate})
	told.Changed(elector.Status{Group: "b", Term: 7, Role: memberstate.Follower, Leader: "n1"})
	told.Changed(elector.Status{Group: "c", Term: 7, Role: memberstate.Observer, Leader: "n1", Inability: protocol.NotAbleDisk})
	is(map[string]int{
		"groups candidate": 1, "groups follower": 1, "groups observer": 1, "groups leader": 0, "leaderless_groups": 1, "unable_groups disk": 1,
		"terms_begun_total": 0,
	})
	told.Changed(elector.Status{Group: "a", Term: 5, Role: memberstate.Leader, Leader: "n0"})
	told.Changed(elector.Status{Group: "b", Term: 7, Role: memberstate.Candidate, Inability: protocol.NotAbleOrdered})
	told.Changed(elector.Status{Group: "c", Term: 9, Role: memberstate.Observer})
	is(map[string]int{
		"groups candidate": 1, "groups follower": 0, "groups observer": 1, "groups leader": 1, "leaderless_groups": 2, "unable_groups ordered": 1,
		"terms_begun_total": 2,
	})
	assert.NotContains(t, figures(t, m), "hustings_unable_groups disk")
	for _, group := range []string{"a", "b", "c", "never known"} {
		told.Changed(elector.Status{Group: group, Term: 9, Stopped: true})
	}
	is(map[string]int{"groups candidate": 0, "groups observer": 0, "groups leader": 0, "leaderless_groups": 0, "leaderless_longest_seconds": 0, "terms_begun_total": 2})
	assert.NotContains(t, figures(t, m), "hustings_unable_groups ordered")
	told.Changed(elector.Status{Group: "c", Term: 12, Role: memberstate.Follower, Leader: "n1"})
	is(map[string]int{"groups follower": 1, "groups observer": 0, "terms_begun_total": 2}) // it begins anew
}

// The time without a leader is that of all groups, and the longest that of one which still has none.
func TestTheTimesWithoutALeaderAreAddedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		told := m.Elector()
		lost := func(group string) { told.Changed(elector.Status{Group: group, Term: 1}) }
		led := func(group string) { told.Changed(elector.Status{Group: group, Term: 1, Leader: "n1"}) }
		is := func(total, longest int) {
			t.Helper()
			assert.Equal(t, total, figures(t, m)["hustings_leaderless_seconds_total"])
			assert.Equal(t, longest, figures(t, m)["hustings_leaderless_longest_seconds"])
		}
		lost("a")
		<-time.After(10 * time.Second)
		lost("b")
		lost("a") // again, which changes nothing
		<-time.After(5 * time.Second)
		is(20, 15)
		led("a")
		<-time.After(time.Second)
		led("a")
		is(21, 6)
		<-time.After(3 * time.Second)
		led("b")
		<-time.After(time.Minute)
		is(24, 0)
		lost("a")
		<-time.After(2 * time.Second)
		is(26, 2)
		told.Changed(elector.Status{Group: "a", Term: 1, Stopped: true})
		<-time.After(time.Minute)
		is(26, 0)
	})
}
