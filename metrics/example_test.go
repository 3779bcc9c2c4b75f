package metrics_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/rpc"
)

// This example exports the metrics of a member, which is alone in its group.
func Example() {
	figures := metrics.New(metrics.PerGroup())
	registry := prometheus.NewRegistry() // or prometheus.MustRegister, and promhttp.Handler
	registry.MustRegister(figures)

	ctx, cancel := context.WithCancel(context.Background())
	el, err := elector.New(elector.HostConfig{
		Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0"), Metrics: figures.Elector(),
	}, elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		Lead: func(ctx context.Context, _ memberstate.Term) error {
			show(registry, "hustings_group_term")
			cancel()
			<-ctx.Done()
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("ended:", el.Run(ctx))
	// Output:
	// hustings_group_term of "orders" is 1
	// ended: <nil>
}

// show prints a metric of every group.
func show(registry *prometheus.Registry, name string) {
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, figure := range family.GetMetric() {
			fmt.Printf("%s of %q is %v\n", name, figure.GetLabel()[0].GetValue(), figure.GetGauge().GetValue())
		}
	}
}
