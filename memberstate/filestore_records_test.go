package memberstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No part of a payload is taken for a whole record, not even if what is missing would be zero.
func TestARecordThatIsCutShortIsMalformed(t *testing.T) {
	for _, whole := range []Record{
		{Group: "g"},
		{Group: "orders", Term: 300, Vote: "n2", Promise: time.Second, Voters: 1 << 63},
	} {
		text := encodeRecords([]Record{whole})
		for length := 1; length < len(text); length++ {
			assert.ErrorIs(t, decodeRecords(text[:length], map[string]Record{}), errMalformed, "%d bytes of %v", length, whole)
		}
		found := map[string]Record{}
		require.NoError(t, decodeRecords(text, found))
		assert.Equal(t, map[string]Record{whole.Group: whole}, found)
	}
}
