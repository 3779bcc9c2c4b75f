// Reads that ask a quorum.

package simulated

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
)

// Each question takes a round trip. Those that come meanwhile share the next one, so their number costs nothing.
func TestReadsShareARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, false)
		term, end := f.leads()
		says := func(m *ledgerpb.Matched) {
			f.engine.Receive(&ledgerpb.Message{From: "n1", Term: term, Says: &ledgerpb.Message_Matched{Matched: m}})
			synctest.Wait()
		}
		says(&ledgerpb.Matched{Index: 1, Attempt: 1})
		var answered atomic.Int64
		for range 50 {
			go func() {
				r := &ledgerpb.Request{Shards: 1, Asks: &ledgerpb.Request_Read{Read: &ledgerpb.Read{Key: []byte("k"), Quorum: true}}}
				if f.engine.Do(t.Context(), r).GetResult() != nil {
					answered.Add(1)
				}
			}()
			synctest.Wait()
		}
		assert.Equal(t, uint64(1), f.newestRound())
		says(&ledgerpb.Matched{Round: 1})
		assert.EqualValues(t, 1, answered.Load(), "the others were asked after the first round had begun")
		assert.Equal(t, uint64(2), f.newestRound())
		says(&ledgerpb.Matched{Round: 2})
		assert.EqualValues(t, 50, answered.Load())
		end()
		f.closeAlone()
	})
}

// newestRound is the largest that it has asked about since.
func (f *follower) newestRound() (newest uint64) {
	for len(f.says) > 0 {
		newest = max(newest, (<-f.says).GetAppend().GetRound())
	}
	return newest
}
