// The collector.

package metrics

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Collector keeps the metrics of one host. It is a [prometheus.Collector].
type Collector struct {
	all []prometheus.Collector

	started, ended, answered *prometheus.CounterVec
	sent, dropped, saves     *prometheus.CounterVec
	records, mended, torn    prometheus.Counter
	nextFailed               prometheus.Gauge
	quorum                   *prometheus.HistogramVec
	save, fsync              prometheus.Histogram

	role, term, leaderless, sinceQuorum, unable *prometheus.Desc
	transport                                   transportDescs
	peers                                       peerDescs

	mu      sync.Mutex
	groups  map[string]*group
	watched *grpcrpc.Transport
}

// group is the state of a group, for metrics that change with time alone.
type group struct {
	status     elector.Status
	leaderless time.Duration // the sum, up to since
	since      time.Time     // when the leader was lost; zero: there is one
	quorum     time.Time     // when a quorum last answered, while leading
}

// buckets range from 0.1 ms, as of a fast disk or network, to 6 s.
var buckets = prometheus.ExponentialBuckets(0.0001, 2.5, 13)

// New makes a collector.
func New() *Collector {
	c := &Collector{groups: make(map[string]*group)}
	c.started = c.counters("rounds_started_total", "Rounds of votes and pre-votes that were started.", "group", "mark")
	c.ended = c.counters("rounds_ended_total", "Rounds of votes and pre-votes that have ended, by judgement.", "group", "mark", "judgement")
	c.answered = c.counters("vote_answers_total", "Answers to requests for a vote, by result.", "group", "mark", "result")
	c.sent = c.counters("messages_sent_total", "Messages handed to the transport, by kind.", "kind")
	c.dropped = c.counters("inputs_dropped_total", "Messages and alarms that were ignored, by reason.", "reason")
	c.saves = c.counters("saves_total", "Batches given to the store, by outcome.", "outcome")
	c.records = c.counter("saved_records_total", "Records in those batches.")
	c.mended = c.counter("store_mended_sectors_total", "Damaged sectors of the store that were repaired from their other copy.")
	c.torn = c.counter("store_torn_saves_total", "Saves that a crash had cut short when the store was opened.")
	c.nextFailed = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: name("store_next_file_failed"), Help: "1 while the store cannot prepare the file that it needs when this one is full.",
	})
	c.quorum = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name("quorum_seconds"), Help: "Time from a leader's heartbeat to the answers of a quorum.", Buckets: buckets,
	}, []string{"group"})
	c.save = histogram("save_seconds", "Time that the store took to save a batch.")
	c.fsync = histogram("fsync_seconds", "Time that the disk took to sync.")
	c.all = append(c.all, c.nextFailed, c.quorum, c.save, c.fsync)
	c.role = desc("role", "1 for the member's present role, 0 for the others.", "group", "role")
	c.term = desc("term", "The member's present term.", "group")
	c.leaderless = desc("leaderless_seconds_total", "Time in which the member knew no leader.", "group")
	c.sinceQuorum = desc("since_quorum_seconds", "Time since a quorum last answered this leader.", "group")
	c.unable = desc("unable", "1 while the member is not able to lead, by cause.", "group", "cause")
	c.transport, c.peers = newTransportDescs(), newPeerDescs()
	info, _ := debug.ReadBuildInfo()
	c.all = append(c.all, buildInfo(info))
	return c
}

func name(of string) string { return "hustings_" + of }

func desc(of, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name(of), help, labels, nil)
}

func histogram(of, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name(of), Help: help, Buckets: buckets})
}

func (c *Collector) counters(of, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name(of), Help: help}, labels)
	c.all = append(c.all, v)
	return v
}

func (c *Collector) counter(of, help string) prometheus.Counter {
	v := prometheus.NewCounter(prometheus.CounterOpts{Name: name(of), Help: help})
	c.all = append(c.all, v)
	return v
}

// Elector returns the Metrics for a host.
func (c *Collector) Elector() *elector.Metrics {
	return &elector.Metrics{
		Changed: c.changed,
		Asked: func(group string, mark rpc.Mark) {
			c.started.WithLabelValues(group, mark.String()).Inc()
		},
		Judged: func(group string, mark rpc.Mark, judged elector.Judgement) {
			c.ended.WithLabelValues(group, mark.String(), judged.String()).Inc()
		},
		Answered: func(group string, mark rpc.Mark, result rpc.Result) {
			c.answered.WithLabelValues(group, mark.String(), result.String()).Inc()
		},
		QuorumHeard: c.quorumHeard,
		Saved:       c.saved,
		Sent: func(_ string, batch []rpc.Message) {
			for i := range batch {
				c.sent.WithLabelValues(batch[i].Kind.String()).Inc()
			}
		},
		Dropped: func(why elector.Drop, n int) {
			c.dropped.WithLabelValues(why.String()).Add(float64(n))
		},
	}
}

func (c *Collector) changed(s elector.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[s.Group]
	if g == nil {
		g = &group{since: time.Now()}
		c.groups[s.Group] = g
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
		delete(c.groups, s.Group)
	}
}

func (c *Collector) quorumHeard(group string, took time.Duration) {
	c.quorum.WithLabelValues(group).Observe(took.Seconds())
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.groups[group]; g != nil {
		g.quorum = time.Now()
	}
}

func (c *Collector) saved(records int, took time.Duration, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	c.saves.WithLabelValues(outcome).Inc()
	c.records.Add(float64(records))
	c.save.Observe(took.Seconds())
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, one := range c.all {
		one.Describe(to)
	}
	for _, d := range slices.Concat(c.transport.all(), c.peers.all(), []*prometheus.Desc{c.role, c.term, c.leaderless, c.sinceQuorum, c.unable}) {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, one := range c.all {
		one.Collect(to)
	}
	c.mu.Lock()
	watched := c.watched
	for name, g := range c.groups {
		c.collectGroup(to, name, g)
	}
	c.mu.Unlock()
	if watched != nil {
		c.transport.collect(to, watched.Stats())
		c.peers.collect(to, watched)
	}
}

var roles = []memberstate.Role{memberstate.Candidate, memberstate.Follower, memberstate.Leader, memberstate.Observer}

func (c *Collector) collectGroup(to chan<- prometheus.Metric, name string, g *group) {
	for _, role := range roles {
		has := 0.0
		if role == g.status.Role {
			has = 1
		}
		to <- prometheus.MustNewConstMetric(c.role, prometheus.GaugeValue, has, name, role.String())
	}
	to <- prometheus.MustNewConstMetric(c.term, prometheus.GaugeValue, float64(g.status.Term), name)
	leaderless := g.leaderless
	if !g.since.IsZero() {
		leaderless += time.Since(g.since)
	}
	to <- prometheus.MustNewConstMetric(c.leaderless, prometheus.CounterValue, leaderless.Seconds(), name)
	if why := g.status.Inability; why != protocol.Able {
		to <- prometheus.MustNewConstMetric(c.unable, prometheus.GaugeValue, 1, name, why.String())
	}
	if g.status.Role == memberstate.Leader {
		to <- prometheus.MustNewConstMetric(c.sinceQuorum, prometheus.GaugeValue, time.Since(g.quorum).Seconds(), name)
	}
}
