package stress

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/directwire"
	"github.com/hustings/hustings/rpc"
)

// heard counts what arrives.
type heard struct{ messages, beats, lost int }

func (h *heard) Receive(batch []rpc.Message) { h.messages += len(batch) }
func (h *heard) ReceiveBeat(*rpc.Beat)       { h.beats++ }
func (h *heard) PeerLost(string)             { h.lost++ }

// A dead node neither hears nor is heard, and stops in the middle of what it sends next.
func TestADeadNodeStopsWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire, handlers := directwire.New("n0", "n1"), [2]heard{}
		ends := []*end{newEnd(wire.End("n0")), newEnd(wire.End("n1"))}
		for i, e := range ends {
			_, err := e.Serve(&handlers[i])
			require.NoError(t, err)
		}
		passed := 0
		both := func() {
			ends[0].Send("n1", make([]rpc.Message, 3))
			ends[0].SendBeat("n1", new(rpc.Beat))
			passed++
		}
		both()
		assert.EqualValues(t, 3, ends[0].messages.Load())
		assert.EqualValues(t, 1, ends[0].beats.Load())
		ends[1].Send("n0", make([]rpc.Message, 2))
		ear{&handlers[0], &handlers[0], ends[0]}.PeerLost("n1")

		ends[0].die()
		go both()
		ends[1].Send("n0", make([]rpc.Message, 2))
		ends[1].SendBeat("n0", new(rpc.Beat))
		ear{&handlers[0], &handlers[0], ends[0]}.PeerLost("n1")
		synctest.Wait()
		assert.Equal(t, 1, passed, "it waits for the end of the run")
		ends[0].release()
		ends[0].release()
		synctest.Wait()
		assert.Equal(t, 2, passed)
		assert.Equal(t, [2]heard{{messages: 2, lost: 1}, {messages: 3, beats: 1}}, handlers)
		assert.EqualValues(t, 3, ends[0].messages.Load())
	})
}
