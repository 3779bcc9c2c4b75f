package groups

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// ear counts received messages.
type ear struct{ heard int }

func (e *ear) Receive(batch []rpc.Message) { e.heard += len(batch) }
func (e *ear) PeerLost(string)             {}

func TestASilentEndNeitherHearsNorIsHeard(t *testing.T) {
	w, ears := newWire([]string{"n0", "n1"}), map[string]*ear{"n0": {}, "n1": {}}
	for node, e := range ears {
		_, err := w.ends[node].Serve(e)
		require.NoError(t, err)
	}
	both := func() {
		w.ends["n0"].Send("n1", make([]rpc.Message, 2))
		w.ends["n1"].Send("n0", make([]rpc.Message, 1))
	}
	both()
	w.ends["n1"].silent.Store(true)
	both()
	assert.Equal(t, 2, ears["n1"].heard)
	assert.Equal(t, 1, ears["n0"].heard)
}
