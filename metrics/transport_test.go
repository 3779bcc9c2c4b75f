package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

// gathered returns the collected metrics, by name and label.
func gathered(t *testing.T, descs []*prometheus.Desc, collect func(chan<- prometheus.Metric)) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(collected{descs, collect}))
	families, err := r.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			assert.Equal(t, f.GetType() == dto.MetricType_COUNTER, m.Counter != nil)
		}
	}
	return all
}

type collected struct {
	descs   []*prometheus.Desc
	collect func(chan<- prometheus.Metric)
}

func (c collected) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}
func (c collected) Collect(to chan<- prometheus.Metric) { c.collect(to) }

// Each metric of a transport has the value that its name says.
func TestEveryFigureOfATransportIsItsOwn(t *testing.T) {
	s := grpcrpc.Stats{Sent: 1, Received: 2, Dropped: 3, Connected: 4, TwoProcesses: 5, Refused: map[grpcrpc.Refusal]uint64{}}
	want := map[string]float64{
		"hustings_transport_sent_total": 1, "hustings_transport_received_total": 2, "hustings_transport_dropped_total": 3,
		"hustings_transport_connections_total": 4, "hustings_transport_two_processes_total": 5,
	}
	for i, why := range grpcrpc.Refusals() {
		s.Refused[why] = uint64(10 + i)
		want["hustings_transport_refused_total "+why.String()] = float64(10 + i)
	}
	d := newTransportDescs()
	assert.Equal(t, want, gathered(t, d.all(), func(to chan<- prometheus.Metric) { d.collect(to, s) }))
}

// An expired certificate has negative time left, and a missing one has no metric.
func TestAnExpiredCertificateHasNegativeTimeLeft(t *testing.T) {
	d := newPeerDescs()
	now := gathered(t, d.all(), func(to chan<- prometheus.Metric) {
		d.remains(to, time.Now().Add(-time.Hour), "own")
		d.remains(to, time.Time{}, "authority")
	})
	assert.Len(t, now, 1)
	assert.InDelta(t, -3600, now["hustings_certificate_remaining_seconds own"], 60)
}
