// Package metrics keeps figures about electors for Prometheus.
//
//	m := metrics.New()
//	prometheus.MustRegister(m)
//	disk := memberstate.FileOptions{Disk: m.Disk(memberstate.OSDisk()), Metrics: m.Store()}
//	store, err := disk.Open(path, node)
//	m.Watch(transport)
//	host, err := elector.NewHost(elector.HostConfig{Metrics: m.Elector(), ...})
//
// Most figures are kept for every group. docs/operation.md explains the use of each,
// docs/grafana.json draws them, and docs/alerts.yaml has alert rules.
package metrics
