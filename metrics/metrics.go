// The collector.

package metrics

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/elector"
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
	beats                    prometheus.Counter
	nextFailed               prometheus.Gauge
	quorum, save, fsync      prometheus.Histogram

	sumDescs   sumDescs
	groupDescs groupDescs
	transport  transportDescs
	peers      peerDescs

	mu      sync.Mutex
	sums    *sums
	groups  groups // nil: they have no series of their own
	cohorts cohorts
	watched *grpcrpc.Transport
}

// Option changes what a collector keeps.
type Option func(*Collector)

// PerGroup adds series of each group: its role, its term, the time without a leader, since when a quorum has not
// answered, and why it is not able to lead. Use it for a host with few groups; Prometheus keeps every
// series of a very large number in memory. All else is summed up over the groups, with and without it. For a leader that leaves
// its heartbeats to the node, see elector.HostConfig.NoNodeBeats, the quorum is that of the node's beats.
func PerGroup() Option {
	return func(c *Collector) { c.groups, c.cohorts = make(groups), make(cohorts) }
}

// buckets range from 0.1 ms, as of a fast disk or network, to 6 s.
var buckets = prometheus.ExponentialBuckets(0.0001, 2.5, 13)

// New makes a collector.
func New(options ...Option) *Collector {
	c := &Collector{sums: newSums(), sumDescs: newSumDescs(), groupDescs: newGroupDescs(), transport: newTransportDescs(), peers: newPeerDescs()}
	for _, o := range options {
		o(c)
	}
	c.started = c.counters("rounds_started_total", "Rounds of votes and pre-votes that were started.", "mark")
	c.ended = c.counters("rounds_ended_total", "Rounds of votes and pre-votes that have ended, by judgement.", "mark", "judgement")
	c.answered = c.counters("vote_answers_total", "Answers to requests for a vote, by result.", "mark", "result")
	c.sent = c.counters("messages_sent_total", "Messages handed to the transport, by kind.", "kind")
	c.beats = c.counter("beats_sent_total", "Beats handed to the transport, each for all groups that two nodes share.")
	c.dropped = c.counters("inputs_dropped_total", "Messages and alarms that were ignored, by reason.", "reason")
	c.saves = c.counters("saves_total", "Batches given to the store, by outcome.", "outcome")
	c.records = c.counter("saved_records_total", "Records in those batches.")
	c.mended = c.counter("store_mended_sectors_total", "Damaged sectors of the store that were repaired from their other copy.")
	c.torn = c.counter("store_torn_saves_total", "Saves that a crash had cut short when the store was opened.")
	c.nextFailed = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: name("store_next_file_failed"), Help: "1 while the store cannot prepare the file that it needs when this one is full.",
	})
	c.quorum = histogram("quorum_seconds", "Time from a leader's heartbeat, or a beat of its node, to the answers of a quorum.")
	c.save = histogram("save_seconds", "Time that the store took to save a batch.")
	c.fsync = histogram("fsync_seconds", "Time that the disk took to sync.")
	c.all = append(c.all, c.nextFailed, c.quorum, c.save, c.fsync)
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
		Asked: func(_ string, mark rpc.Mark) {
			c.started.WithLabelValues(mark.String()).Inc()
		},
		Judged: func(_ string, mark rpc.Mark, judged elector.Judgement) {
			c.ended.WithLabelValues(mark.String(), judged.String()).Inc()
		},
		Answered: func(_ string, mark rpc.Mark, result rpc.Result) {
			c.answered.WithLabelValues(mark.String(), result.String()).Inc()
		},
		QuorumHeard: c.quorumHeard,
		Rests:       c.rests,
		CohortHeard: c.cohortHeard,
		Saved:       c.saved,
		Sent: func(_ string, batch []rpc.Message) {
			for i := range batch {
				c.sent.WithLabelValues(batch[i].Kind.String()).Inc()
			}
		},
		BeatSent: func(string) { c.beats.Inc() },
		Dropped: func(why elector.Drop, n int) {
			c.dropped.WithLabelValues(why.String()).Add(float64(n))
		},
	}
}

func (c *Collector) changed(s elector.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums.changed(s)
	if c.groups != nil {
		c.groups.changed(s)
	}
}

func (c *Collector) quorumHeard(group string, took time.Duration) {
	c.quorum.Observe(took.Seconds())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups.heard(group)
}

func (c *Collector) rests(group string, cohort uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.groups[group]; g != nil {
		c.cohorts.move(g, cohort)
	}
}

func (c *Collector) cohortHeard(number uint32, took time.Duration) {
	c.quorum.Observe(took.Seconds())
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.cohorts[number]; q != nil {
		q.heard = time.Now()
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
	descs := slices.Concat(c.transport.all(), c.peers.all(), c.sumDescs.all())
	if c.groups != nil {
		descs = append(descs, c.groupDescs.all()...)
	}
	for _, d := range descs {
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
	c.sums.collect(to, &c.sumDescs)
	c.groups.collect(to, &c.groupDescs, c.cohorts)
	c.mu.Unlock()
	if watched != nil {
		c.transport.collect(to, watched.Stats())
		c.peers.collect(to, watched)
	}
}

var roles = []memberstate.Role{memberstate.Candidate, memberstate.Follower, memberstate.Leader, memberstate.Observer}
