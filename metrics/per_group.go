// Series of each group, for hosts with few groups: see PerGroup.

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

type groupDescs struct{ role, term, leaderless, sinceQuorum, unable *prometheus.Desc }

func newGroupDescs() groupDescs {
	return groupDescs{
		role:        desc("group_role", "1 for the member's present role, 0 for the others.", "group", "role"),
		term:        desc("group_term", "The member's present term.", "group"),
		leaderless:  desc("group_leaderless_seconds_total", "Time in which the member knew no leader.", "group"),
		sinceQuorum: desc("group_since_quorum_seconds", "Time since a quorum last answered a heartbeat of this leader, or a beat of its node.", "group"),
		unable:      desc("group_unable", "1 while the member is not able to lead, by cause.", "group", "cause"),
	}
}

func (d *groupDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.role, d.term, d.leaderless, d.sinceQuorum, d.unable}
}

// groups are all groups by name.
type groups map[string]*group

// group is the state of a group, for metrics that change with time alone.
type group struct {
	status     elector.Status
	leaderless time.Duration // the sum, up to since
	since      time.Time     // when the leader was lost; zero: there is one
	quorum     time.Time     // when a quorum last answered, while leading
	cohort     uint32        // of leaders that leave their heartbeats to the node; 0: it is in none
}

// cohorts are those that have groups, by number. What a quorum has answered is noted once for all groups of a cohort.
type cohorts map[uint32]*cohort

type cohort struct {
	groups int
	heard  time.Time // when a quorum last answered a beat of the node; zero: none has yet
}

// move puts a group into a cohort, or takes it out of the one that it is in (0).
func (all cohorts) move(g *group, to uint32) {
	if c := all[g.cohort]; c != nil {
		g.quorum = all.lastQuorum(g)
		if c.groups--; c.groups == 0 {
			delete(all, g.cohort)
		}
	}
	if g.cohort = to; to == 0 {
		return
	}
	if all[to] == nil {
		all[to] = new(cohort)
	}
	all[to].groups++
}

// lastQuorum is when a quorum last answered a group's leader, or its node.
func (all cohorts) lastQuorum(g *group) time.Time {
	if c := all[g.cohort]; c != nil && c.heard.After(g.quorum) {
		return c.heard
	}
	return g.quorum
}

// changed takes in a group's new status.
func (all groups) changed(s elector.Status) {
	g := all[s.Group]
	if g == nil {
		g = &group{since: time.Now()}
		all[s.Group] = g
	}
	switch {
	case s.Leader == "" && g.since.IsZero():
		g.since = time.Now()
	case s.Leader != "" && !g.since.IsZero():
		g.leaderless += time.Since(g.since)
		g.since = time.Time{}
	}
	if s.Role == memberstate.Leader && (g.status.Role != s.Role || g.status.Term != s.Term) {
		g.quorum = time.Now() // that quorum has just elected it
	}
	g.status = s
	if s.Stopped {
		delete(all, s.Group)
	}
}

// heard notes that a quorum has answered a group's leader.
func (all groups) heard(name string) {
	if g := all[name]; g != nil {
		g.quorum = time.Now()
	}
}

func (all groups) collect(to chan<- prometheus.Metric, d *groupDescs, in cohorts) {
	for name, g := range all {
		g.collect(to, d, name, in.lastQuorum(g))
	}
}

func (g *group) collect(to chan<- prometheus.Metric, d *groupDescs, name string, quorum time.Time) {
	for _, role := range roles {
		to <- prometheus.MustNewConstMetric(d.role, prometheus.GaugeValue, number(role == g.status.Role), name, role.String())
	}
	to <- prometheus.MustNewConstMetric(d.term, prometheus.GaugeValue, float64(g.status.Term), name)
	leaderless := g.leaderless
	if !g.since.IsZero() {
		leaderless += time.Since(g.since)
	}
	to <- prometheus.MustNewConstMetric(d.leaderless, prometheus.CounterValue, leaderless.Seconds(), name)
	if why := g.status.Inability; why != protocol.Able {
		to <- prometheus.MustNewConstMetric(d.unable, prometheus.GaugeValue, 1, name, why.String())
	}
	if g.status.Role == memberstate.Leader {
		to <- prometheus.MustNewConstMetric(d.sinceQuorum, prometheus.GaugeValue, time.Since(quorum).Seconds(), name)
	}
}
