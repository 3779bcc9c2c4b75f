// The bytes that the calls of a connection hold, counted frame by frame.

package grpcrpc

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flow is a connection from which the test's bytes are read one by one.
type flow struct {
	net.Conn
	bytes.Buffer
}

func (f *flow) Read(b []byte) (int, error)  { return iotest.OneByteReader(&f.Buffer).Read(b) }
func (f *flow) Write(b []byte) (int, error) { return len(b), nil }

const settings, ping = 4, 6 // kinds of frames

func frameOf(kind, flags byte, stream uint32, length int) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(length)<<8|uint32(kind))
	return append(binary.BigEndian.AppendUint32(append(head, flags), stream), make([]byte, length)...)
}

// received is a connection that has received these frames until it refused one.
func received(t *testing.T, frames ...[]byte) (c *calls, came *flow, refused error) {
	t.Helper()
	came = new(flow)
	came.WriteString(strings.Repeat("p", prefaceLen))
	c = newCalls(came, func(_ Refusal, err error) { refused = err })
	takes(t, c, came, frames...)
	return c, came, refused
}

func takes(t *testing.T, c *calls, came *flow, frames ...[]byte) {
	t.Helper()
	came.Buffer.Write(bytes.Join(frames, nil))
	for came.Len() > 0 {
		if _, err := c.Read(make([]byte, 100)); err != nil {
			return
		}
	}
}

func TestACallHoldsMemoryUntilItIsOver(t *testing.T) {
	c, came, _ := received(t, frameOf(headersFrame, 4, 1, 50), frameOf(continuationFrame, 0, 1, 20), frameOf(dataFrame, 0, 1, 1000))
	assert.Equal(t, callCost+3*frameHead+1070, c.held)
	takes(t, c, came, frameOf(headersFrame, endStream, 3, 50))
	assert.Equal(t, 2*callCost+3*frameHead+1070, c.held, "a complete request holds only callCost")
	answer := func(stream uint32, kind, flags byte) {
		_, err := c.Write(frameOf(kind, flags, stream, 10))
		require.NoError(t, err)
	}
	answer(3, headersFrame, 0)
	answer(1, headersFrame, endStream)
	assert.Len(t, c.open, 2, "call 3 has not been answered, and call 1 may go on")
	answer(3, dataFrame, endStream)
	answer(1, resetFrame, 0)
	assert.Empty(t, c.open)
	assert.Zero(t, c.held)
	takes(t, c, came, frameOf(dataFrame, 0, 1, 1000), frameOf(headersFrame, 0, 5, 10), frameOf(resetFrame, 0, 5, 4))
	assert.Zero(t, c.held, "data for a call that is over, or for a call that was reset, is not held")
	assert.Equal(t, frameHead+1000+callCost, c.unsent)
	answer(9, headersFrame, 0)
	assert.Zero(t, c.unsent)
}

// All work for gRPC that waits for an answer, or for the next write, is bounded.
func TestWaitingWorkIsBounded(t *testing.T) {
	many := func(n int, frame []byte) [][]byte {
		var all [][]byte
		for range n {
			all = append(all, frame)
		}
		return all
	}
	calls := func(n int) (all [][]byte) {
		for i := range n {
			all = append(all, frameOf(headersFrame, endStream, uint32(2*i+1), 0))
		}
		return all
	}
	resets := func(n int) (all [][]byte) {
		for i := range n {
			all = append(all, frameOf(headersFrame, 0, uint32(2*i+1), 0), frameOf(resetFrame, 0, uint32(2*i+1), 4))
		}
		return all
	}
	data := func(n int) [][]byte {
		return append([][]byte{frameOf(headersFrame, 0, 1, 0)}, many(n, frameOf(dataFrame, 0, 1, 1))...)
	}
	strayReset, strayData := frameOf(resetFrame, 0, 1, 4), frameOf(dataFrame, 0, 1, 16<<10)
	for what, of := range map[string]struct{ fits, excessive [][]byte }{
		"calls":             {calls(maxHeld / callCost), calls(maxHeld/callCost + 1)},
		"resets":            {resets(maxUnsent / callCost), resets(maxUnsent/callCost + 1)},
		"data":              {data((maxHeld - callCost) / 11), data(maxHeld / 10)},
		"resets of no call": {many(maxUnsent/callCost, strayReset), many(maxUnsent/callCost+1, strayReset)},
		"data of no call":   {many(maxUnsent/(16<<10+9), strayData), many(maxUnsent/(16<<10+9)+1, strayData)},
		"pings":             {many(maxUnsent/17, frameOf(ping, 0, 0, 8)), many(maxUnsent/17+1, frameOf(ping, 0, 0, 8))},
		"settings":          {many(maxUnsent/6009, frameOf(settings, 0, 0, 6000)), many(maxUnsent/6009+1, frameOf(settings, 0, 0, 6000))},
		"after the end": {
			[][]byte{frameOf(headersFrame, endStream, 1, 0)},
			[][]byte{frameOf(headersFrame, endStream, 1, 0), frameOf(dataFrame, 0, 1, 1)},
		},
	} {
		_, _, err := received(t, of.fits...)
		assert.NoError(t, err, what)
		_, _, err = received(t, of.excessive...)
		assert.ErrorIs(t, err, errFlood, what)
	}
}

func TestAConnectionWithAnExchangeHasNoOtherCall(t *testing.T) {
	begins := func(stream uint32) []byte { return frameOf(headersFrame, 0, stream, 0) }
	c, came, refused := received(t, begins(1), begins(3))
	require.NoError(t, refused)
	require.ErrorIs(t, c.reserve(), errBeside)
	takes(t, c, came, frameOf(resetFrame, 0, 3, 4))
	require.NoError(t, c.reserve())
	require.ErrorIs(t, c.reserve(), errBeside)
	for range 20 {
		takes(t, c, came, frameOf(dataFrame, 0, 1, 16<<10)) // the meter counts that
	}
	require.Zero(t, came.Len())
	takes(t, c, came, frameOf(ping, 0, 0, 8))
	assert.Equal(t, callCost+frameHead+8, c.unsent, "the reset and the ping are no part of it")
	var why Refusal
	c.refuse = func(reason Refusal, _ error) { why = reason }
	came.Buffer.Write(begins(5))
	_, err := c.Read(make([]byte, 1))
	for err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	assert.ErrorIs(t, err, errBeside)
	assert.Equal(t, RefusedPeer, why)
}

// A receiver ignores the first bit of a stream's number, which has no meaning. So must whoever counts.
func TestTheReservedBitOfAFrameMakesItNoOther(t *testing.T) {
	const reserved = 1 << 31
	c, _, refused := received(t, frameOf(headersFrame, 0, 1|reserved, 50), frameOf(dataFrame, endStream, 1, 1000))
	require.NoError(t, refused)
	assert.Len(t, c.open, 1)
	assert.Equal(t, callCost, c.held, "the request is complete")
	assert.Zero(t, c.unsent)
}
