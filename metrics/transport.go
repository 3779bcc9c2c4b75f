// Metrics of a transport, which keeps the counts itself; they are read when collected.

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
		sent:         desc("transport_sent_total", "Messages sent over a connection."),
		received:     desc("transport_received_total", "Messages received over a connection."),
		dropped:      desc("transport_dropped_total", "Messages dropped because there was no peer, no room or no handler, and superseded heartbeats."),
		connected:    desc("transport_connections_total", "Connections to peers that were established."),
		twoProcesses: desc("transport_two_processes_total", "How often two processes were found to use the same node's id."),
		refused:      desc("transport_refused_total", "Connections and messages that were refused, by reason.", "reason"),
	}
}

func (d *transportDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.sent, d.received, d.dropped, d.connected, d.twoProcesses, d.refused}
}

// Watch adds the metrics of a transport.
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
