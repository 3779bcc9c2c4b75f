// Package metrics exports metrics of electors to Prometheus.
//
//	m := metrics.New()
//	prometheus.MustRegister(m)
//	disk := memberstate.FileOptions{Disk: m.Disk(memberstate.OSDisk()), Metrics: m.Store()}
//	store, err := disk.Open(path, node)
//	m.Watch(transport)
//	host, err := elector.NewHost(elector.HostConfig{Metrics: m.Elector(), ...})
//
// Metrics are summed up over all groups of a host, so there are as many for a million groups as for one. A host with
// few groups can have some of them for each group: New(PerGroup()). docs/operation.md explains each one,
// docs/grafana.json is a dashboard, and docs/alerts.yaml has alert rules.
package metrics
