// What it costs to ask for a lease.

package elector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// BenchmarkLease reads the lease of a leader that beats by itself, and of one that leaves its heartbeats to its node.
func BenchmarkLease(b *testing.B) {
	for name, alone := range map[string]bool{"beats": true, "rests": false} {
		b.Run(name, func(b *testing.B) {
			network, els := rpc.NewNetwork(1), [3]*elector.Elector{}
			for i := range els {
				self := fmt.Sprint("n", i)
				host := elector.MustHost(b, elector.HostConfig{Self: self, Store: new(memberstate.MemStore), Transport: network.Join(self), NoNodeBeats: alone})
				c := elector.GroupOf("g", "n0", "n1", "n2")
				c.Leases = true
				els[i] = elector.MustJoin(b, host, c)
				require.NoError(b, els[i].Start())
			}
			<-time.After(2 * time.Second)
			var leader *elector.Elector
			for _, el := range els {
				if holdsLease(el) {
					leader = el
				}
			}
			require.NotNil(b, leader)
			for b.Loop() {
				if _, _, held := leader.Lease(); !held {
					b.Fatal("it is lost")
				}
			}
			for _, el := range els {
				require.NoError(b, el.Stop(endedContext()))
			}
		})
	}
}
