// A node's connections to peers, and the validity of its certificates.

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

type peerDescs struct{ connected, certificate *prometheus.Desc }

func newPeerDescs() peerDescs {
	return peerDescs{
		connected:   desc("transport_peer_connected", "1 if there is a connection to the peer, 0 if there is none.", "peer"),
		certificate: desc("certificate_remaining_seconds", "Time until a certificate expires: this node's own, or its authority's.", "certificate"),
	}
}

func (d *peerDescs) all() []*prometheus.Desc { return []*prometheus.Desc{d.connected, d.certificate} }

func (d *peerDescs) collect(to chan<- prometheus.Metric, t *grpcrpc.Transport) {
	for peer, is := range t.Connected() {
		to <- prometheus.MustNewConstMetric(d.connected, prometheus.GaugeValue, number(is), peer)
	}
	own, authority := t.CertificateEnds()
	d.remains(to, own, "own")
	d.remains(to, authority, "authority")
}

// remains yields the time until a certificate expires, if there is one. It is negative for an
// expired one.
func (d *peerDescs) remains(to chan<- prometheus.Metric, end time.Time, which string) {
	if !end.IsZero() {
		to <- prometheus.MustNewConstMetric(d.certificate, prometheus.GaugeValue, time.Until(end).Seconds(), which)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
