// What it takes to open all quiet groups of a node in one turn, when a peer is gone.

package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

const opened = 10_000 // groups, packed

// BenchmarkFollowersLoseTheirNode opens followers of one node whose bonds end.
func BenchmarkFollowersLoseTheirNode(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f, _ := leasing(b, 1)
		p := f.node.peers.members["n1"]
		for i := range opened {
			g := NewGroup(f.groups[0].Electorate, fmt.Sprint("follows", i), f.recorder)
			require.NoError(b, g.Restore(memberstate.Record{Term: 3, Voters: g.Members.Digest()}, true, memberstate.Position{}))
			g.Role, g.Leader, g.running = memberstate.Follower, 2, true
			g.settle(g.Rules)
			p.followers.add(&g)
			f.node.packOne(&g)
		}
		require.NotNil(b, p.followers[len(p.followers)-1].packed)
		b.StartTimer()
		f.node.unbindAll(p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/opened, "ns/group")
}

// BenchmarkLeadersLoseTheirQuorum wakes leaders of one cohort.
func BenchmarkLeadersLoseTheirQuorum(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f, c := leasing(b, opened)
		for _, g := range f.groups {
			f.node.packOne(g)
		}
		require.NotNil(b, f.groups[0].packed)
		b.StartTimer()
		f.node.wakeAll(c)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/opened, "ns/group")
}
