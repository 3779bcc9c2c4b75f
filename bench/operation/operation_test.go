package operation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The measured operations must be those that the table names.

func TestOurOperationsAreThoseOfTheTable(t *testing.T) {
	for operation, expected := range map[string]struct {
		reply rpc.Result
		sends rpc.Kind
		saves bool
	}{
		heartbeat: {reply: rpc.Success},
		granted:   {reply: rpc.Accept, saves: true},
		refused:   {reply: rpc.RejectAlreadyVoted},
		preVote:   {reply: rpc.Accept},
		beat:      {sends: rpc.Heartbeat},
		stands:    {sends: rpc.VoteRequest},
	} {
		m, inputs, err := oursDoes(operation)
		require.NoError(t, err)
		require.NoError(t, m.repeat(inputs, 3))
		out := &m.step.Output
		assert.Equal(t, expected.reply, out.Reply.Result, operation)
		assert.Equal(t, expected.sends, out.Send.Kind, operation)
		assert.Equal(t, expected.saves, out.Save, operation)
		assert.Zero(t, out.Dropped, operation)
	}
	_, _, err := oursDoes("nothing")
	require.Error(t, err)
}

func TestOurStandingFollowerAsksForPreVotes(t *testing.T) {
	m, inputs, err := oursDoes(stands)
	require.NoError(t, err)
	require.NoError(t, m.repeat(inputs, 1))
	assert.Equal(t, rpc.PreVote, m.step.Output.Send.Mark)
	assert.Equal(t, memberstate.SetOf(2, 3), m.step.Output.To)
}

func TestEtcdsOperationsAreThoseOfTheTable(t *testing.T) {
	for operation, expected := range map[string]raftpb.MessageType{
		heartbeat: raftpb.MsgHeartbeatResp,
		granted:   raftpb.MsgVoteResp,
		refused:   raftpb.MsgVoteResp,
		preVote:   raftpb.MsgPreVoteResp,
		beat:      raftpb.MsgHeartbeat,
		stands:    raftpb.MsgPreVote,
	} {
		said, terms := etcdDoes(t, operation)
		each := 1
		if operation == beat || operation == stands {
			each = 2 // to both others
		}
		assert.Len(t, said, each*etcdTimes, operation)
		for _, s := range said {
			require.Equal(t, expected, s.label.Kind, operation)
			require.Equal(t, operation == refused, s.message.GetReject(), operation)
		}
		if operation == granted {
			assert.Equal(t, uint64(etcdTimes), terms, "every vote is given in a term of its own")
		}
	}
	_, err := etcdBatch((*raft.RawNode).Step, "nothing")
	require.Error(t, err)
}

// etcdDoes runs one batch, and returns its messages, and by how much the voter's term rose.
func etcdDoes(tb testing.TB, operation string) (said []saying[*raftpb.Message], terms uint64) {
	tb.Helper()
	g, err := newGroup((*raft.RawNode).Step, asksFirst(operation))
	require.NoError(tb, err)
	run, err := g.operation(operation)
	require.NoError(tb, err)
	before := g.nodes[1].Term
	run()
	require.NoError(tb, g.err)
	return g.said, g.nodes[1].Term - before
}

func TestCostsAreThoseOfOneOperation(t *testing.T) {
	kept := make([][]byte, 0, 3000)
	c, err := costOf(3000, func() (batch, error) {
		return batch{1000, func() error {
			for range 1000 {
				kept = append(kept, make([]byte, 1<<12))
			}
			return nil
		}}, nil
	})
	require.NoError(t, err)
	assert.Len(t, kept, 3000)
	// Other activity of the process is small in comparison.
	assert.InEpsilon(t, 1<<12, c.Bytes, 0.05)
	assert.InEpsilon(t, 1, c.Allocations, 0.05)
	_, err = costOf(1, func() (batch, error) { return batch{1, func() error { return assert.AnError }}, nil })
	require.ErrorIs(t, err, assert.AnError)
}

func TestOurOperationsAllocateNothing(t *testing.T) {
	for _, operation := range operations {
		m, inputs, err := oursDoes(operation)
		require.NoError(t, err)
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = m.repeat(inputs, 1) }), operation)
	}
}

func BenchmarkOurs(b *testing.B) {
	for _, operation := range operations {
		b.Run(operation, func(b *testing.B) {
			m, inputs, err := oursDoes(operation)
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			if err := m.repeat(inputs, b.N); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkEtcd(b *testing.B) {
	for _, operation := range operations {
		b.Run(operation, func(b *testing.B) {
			b.ReportAllocs()
			for done := 0; done < b.N; done += etcdTimes { // whole batches
				b.StopTimer()
				batch, err := etcdBatch((*raft.RawNode).Step, operation)
				require.NoError(b, err)
				b.StartTimer()
				if err := batch.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
