package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
)

// Large entries leave memory before their number is large.
func TestLargeEntriesDoNotStayInMemory(t *testing.T) {
	const size = 1 << 20
	large := &ledgerpb.Command{Does: &ledgerpb.Command_Put{Put: &ledgerpb.Put{Value: make([]byte, size)}}}
	var l ledger
	for i := uint64(1); i <= 100; i++ {
		l.append(&ledgerpb.Entry{Term: 1, Index: i, Command: large})
		l.durable = i
		l.trim(i, 1000)
		assert.LessOrEqual(t, len(l.tail), mostBytes/size+1)
		assert.Equal(t, i, l.tail[len(l.tail)-1].Index, "the newest ones stay")
	}
	l.cut(98)
	assert.Equal(t, uint64(98), l.tail[len(l.tail)-1].Index)
	assert.InDelta(t, len(l.tail)*size, l.bytes, 10_000)
}
