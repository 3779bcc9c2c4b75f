package memberstate

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func decoded(payload []byte) ([]Record, error) {
	found := newTable()
	err := decodeRecords(payload, &found)
	return found.list(), err
}

// No part of a payload is taken for a whole record, not even if what is missing would be zero.
func TestARecordThatIsCutShortIsMalformed(t *testing.T) {
	for _, whole := range []Record{
		{Group: "g"},
		{Group: "orders", Term: 300, Vote: "n2", Promise: time.Second, Voters: 1 << 63},
	} {
		text := encodeRecords([]Record{whole})
		for length := 1; length < len(text); length++ {
			_, err := decoded(text[:length])
			assert.ErrorIs(t, err, errMalformed, "%d bytes of %v", length, whole)
		}
		found, err := decoded(text)
		require.NoError(t, err)
		assert.Equal(t, []Record{whole}, found)
	}
}

// A number may have more bytes than any has, or be negative as a duration.
func TestANumberThatIsTooLargeIsMalformed(t *testing.T) {
	endless := bytes.Repeat([]byte{0xff}, 11)
	text := encodeRecords([]Record{{Group: "g"}})
	for name, payload := range map[string][]byte{
		"a length":  endless,
		"a term":    slices.Concat(text[:2], endless, text[3:]),
		"a promise": slices.Concat(text[:4], binary.AppendUvarint(nil, math.MaxInt64+1), text[5:]),
	} {
		_, err := decoded(payload)
		assert.ErrorIs(t, err, errMalformed, name)
	}
	found, err := decoded(slices.Concat(text[:4], binary.AppendUvarint(nil, math.MaxInt64), text[5:]))
	require.NoError(t, err)
	assert.EqualValues(t, math.MaxInt64, found[0].Promise)
}
