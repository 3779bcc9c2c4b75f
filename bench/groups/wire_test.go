package groups

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// ear counts received messages.
type ear struct{ heard int }

func (e *ear) Receive(batch []rpc.Message) { e.heard += len(batch) }
func (e *ear) ReceiveBeat(*rpc.Beat)       { e.heard++ }
func (e *ear) PeerLost(string)             {}

func TestADeadHostNeitherHearsNorSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ears := newWire([]string{"n0", "n1"}, NewSeen(1)), map[string]*ear{"n0": {}, "n1": {}}
		for node, e := range ears {
			_, err := w.ends[node].Serve(e)
			require.NoError(t, err)
		}
		both := func() {
			w.ends["n0"].Send("n1", make([]rpc.Message, 2))
			w.ends["n0"].SendBeat("n1", new(rpc.Beat))
			w.ends["n1"].Send("n0", make([]rpc.Message, 1))
			w.ends["n1"].SendBeat("n0", new(rpc.Beat))
		}
		both()
		w.ends["n1"].Silence()
		ended := false
		go func() {
			both()
			ended = true
		}()
		synctest.Wait()
		assert.False(t, ended, "the dead host waits in its send")
		assert.Equal(t, 3, ears["n1"].heard)
		assert.Equal(t, 2, ears["n0"].heard)
		assert.Equal(t, tally{messages: 8, beats: 3}, w.seen.tally(), "what is sent to the dead counts, and what it sends does not")
		w.close()
		synctest.Wait()
		assert.True(t, ended, "until the end")
		assert.Equal(t, 2, ears["n0"].heard)
	})
}
