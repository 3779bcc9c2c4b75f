// A benchmark of a handover through hosts and the network in memory.

package elector_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// BenchmarkTransfer hands over the leadership of a group of three, again and again, in real time.
func BenchmarkTransfer(b *testing.B) {
	electors := benchHosts(b)
	b.ReportAllocs()
	for b.Loop() {
		leader := benchLeader(b, electors)
		if err := leader.TransferLeadership(b.Context(), ""); err != nil {
			b.Fatal(err)
		}
	}
}

// benchHosts runs one group on three hosts until the benchmark ends.
func benchHosts(b *testing.B) (electors []*elector.Elector) {
	b.Helper()
	network, ids := rpc.NewNetwork(1), []string{"n0", "n1", "n2"}
	for _, id := range ids {
		el := startElector(b, config{
			elector.HostConfig{Self: id, Store: new(memberstate.MemStore), Transport: network.Join(id)}, elector.GroupOf("g", ids...),
		})
		b.Cleanup(func() { _ = el.Stop(context.Background()) })
		electors = append(electors, el)
	}
	return electors
}

// benchLeader waits for the leader of a group.
func benchLeader(b *testing.B, electors []*elector.Elector) *elector.Elector {
	b.Helper()
	for s := range electors[0].Watch(b.Context()) {
		for i, el := range electors {
			if s.Leader == fmt.Sprintf("n%d", i) && el.Status().Role == memberstate.Leader {
				return el
			}
		}
	}
	b.Fatal("no leader")
	return nil
}
