// The figures of a transport. It counts by itself; they are read when asked for.

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

type transportDescs struct {
	sent, received, dropped, connected, twoProcesses, refused *prometheus.Desc
}

func newTransportDescs() transportDescs {
	return transportDescs{
		sent:         desc("transport_sent_total", "Messages that left over a connection."),
		received:     desc("transport_received_total", "Messages that came over a connection."),
		dropped:      desc("transport_dropped_total", "Messages for which there was no peer, no room or no handler, and superseded heartbeats."),
		connected:    desc("transport_connections_total", "Connections to peers that came about."),
		twoProcesses: desc("transport_two_processes_total", "How often two processes were found to claim one node's id."),
		refused:      desc("transport_refused_total", "What was turned away, by reason.", "reason"),
	}
}

func (d *transportDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.sent, d.received, d.dropped, d.connected, d.twoProcesses, d.refused}
}

// Watch includes the figures of a transport.
func (c *Collector) Watch(t *grpcrpc.Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = t
}

func (d *transportDescs) collect(to chan<- prometheus.Metric, s grpcrpc.Stats) {
	counter := func(of *prometheus.Desc, value uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, prometheus.CounterValue, float64(value), labels...)
	}
	counter(d.sent, s.Sent)
	counter(d.received, s.Received)
	counter(d.dropped, s.Dropped)
	counter(d.connected, s.Connected)
	counter(d.twoProcesses, s.TwoProcesses)
	for _, why := range grpcrpc.Refusals() {
		counter(d.refused, s.Refused[why], why.String())
	}
}
