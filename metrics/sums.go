// Sums over all groups of a host. They have as many series for a million groups as for one, and what is
// collected was added up before, so collecting them takes no longer.

package metrics

import (
	"container/list"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

type sumDescs struct{ groups, leaderless, unable, seconds, longest, terms *prometheus.Desc }

func newSumDescs() sumDescs {
	return sumDescs{
		groups:     desc("groups", "Groups, by the role that this node has in them.", "role"),
		leaderless: desc("leaderless_groups", "Groups in which this node knows no leader."),
		unable:     desc("unable_groups", "Groups in which this node is not able to lead, by cause.", "cause"),
		seconds:    desc("leaderless_seconds_total", "Time in which this node knew no leader, added up over all groups."),
		longest:    desc("leaderless_longest_seconds", "For how long this node has known no leader, in the group in which that is longest; 0 if all have one."),
		terms:      desc("terms_begun_total", "New terms that this node has seen, in all groups."),
	}
}

func (d *sumDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.groups, d.leaderless, d.unable, d.seconds, d.longest, d.terms}
}

// sums are kept up to date with every change of a group.
type sums struct {
	known      map[string]*part
	roles      map[memberstate.Role]int
	unable     map[elector.Inability]int
	terms      uint64
	leaderless *list.List // of time.Time: since when a group has none, the longest first
	// seconds is the time without a leader until counted, added up over all groups. Nanoseconds would overflow
	// after hours, with very many groups.
	seconds float64
	counted time.Time
}

// part is what a group adds to the sums.
type part struct {
	term      memberstate.Term
	role      memberstate.Role
	inability elector.Inability
	none      *list.Element // in leaderless; nil if the group has a leader
}

func newSums() *sums {
	return &sums{
		known: make(map[string]*part), roles: make(map[memberstate.Role]int), unable: make(map[elector.Inability]int),
		leaderless: list.New(), counted: time.Now(),
	}
}

// changed takes in a group's new status.
func (s *sums) changed(now elector.Status) {
	p := s.known[now.Group]
	if p != nil {
		s.remove(p)
	}
	switch {
	case now.Stopped:
		s.lead(p)
		delete(s.known, now.Group)
		return
	case p == nil:
		p = &part{term: now.Term}
		s.known[now.Group] = p
	case now.Term > p.term:
		s.terms++
	}
	p.term, p.role, p.inability = now.Term, now.Role, now.Inability
	s.roles[p.role]++
	if p.inability != protocol.Able {
		s.unable[p.inability]++
	}
	switch {
	case now.Leader != "":
		s.lead(p)
	case p.none == nil:
		s.count()
		p.none = s.leaderless.PushBack(s.counted)
	}
}

// remove takes back what a group adds by its role and its ability.
func (s *sums) remove(p *part) {
	s.roles[p.role]--
	if p.inability != protocol.Able {
		s.unable[p.inability]--
	}
}

// lead notes that a group has a leader, or has ended; p is nil if it was never known.
func (s *sums) lead(p *part) {
	if p == nil || p.none == nil {
		return
	}
	s.count()
	s.leaderless.Remove(p.none)
	p.none = nil
}

// count adds up the time without a leader until now.
func (s *sums) count() {
	now := time.Now()
	s.seconds += float64(s.leaderless.Len()) * now.Sub(s.counted).Seconds()
	s.counted = now
}

func (s *sums) collect(to chan<- prometheus.Metric, d *sumDescs) {
	s.count()
	value := func(of *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, kind, v, labels...)
	}
	for _, role := range roles {
		value(d.groups, prometheus.GaugeValue, float64(s.roles[role]), role.String())
	}
	for why, groups := range s.unable {
		if groups > 0 {
			value(d.unable, prometheus.GaugeValue, float64(groups), why.String())
		}
	}
	longest := 0.0
	if first := s.leaderless.Front(); first != nil {
		longest = s.counted.Sub(first.Value.(time.Time)).Seconds()
	}
	value(d.leaderless, prometheus.GaugeValue, float64(s.leaderless.Len()))
	value(d.longest, prometheus.GaugeValue, longest)
	value(d.seconds, prometheus.CounterValue, s.seconds)
	value(d.terms, prometheus.CounterValue, float64(s.terms))
}
