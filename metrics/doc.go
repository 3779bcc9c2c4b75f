// Package metrics exports metrics of electors to Prometheus.
//
//	m := metrics.New()
//	prometheus.MustRegister(m)
//	disk := memberstate.FileOptions{Disk: m.Disk(memberstate.OSDisk()), Metrics: m.Store()}
//	store, err := disk.Open(path, node)
//	m.Watch(transport)
//	host, err := elector.NewHost(elector.HostConfig{Metrics: m.Elector(), ...})
//
// Most metrics are kept for each group. docs/operation.md explains each one,
// docs/grafana.json is a dashboard, and docs/alerts.yaml has alert rules.
package metrics
