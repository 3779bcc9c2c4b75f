// An inspector sees every step and every message. The simulator's invariants are checked by one, so what it does
// not see is not checked.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// witness is an inspector that counts.
type witness struct {
	t             *testing.T
	before, after int
	says          map[rpc.Kind]memberstate.Set
}

func (w *witness) Before(*Group, *Input) {
	assert.Equal(w.t, w.before, w.after, "steps overlap")
	w.before++
}

func (w *witness) After(*Group, *Step) {
	w.after++
	assert.Equal(w.t, w.before, w.after)
}

func (w *witness) Says(_ *Group, to memberstate.Set, m *Message) { w.says[m.Kind] |= to }

func TestAnInspectorSeesEverything(t *testing.T) {
	d, f := pair(t)
	seen := map[*recorder]*witness{}
	for _, r := range []*recorder{d, f} {
		seen[r] = &witness{t: t, says: map[rpc.Kind]memberstate.Set{}}
		r.node.Inspect(seen[r])
	}
	d.ring()
	d.answer()
	require.NotEmpty(t, d.post)
	deliver([]*recorder{d, f})
	assert.Equal(t, map[rpc.Kind]memberstate.Set{rpc.Heartbeat: memberstate.SetOf(2)}, seen[d].says)
	assert.Equal(t, map[rpc.Kind]memberstate.Set{rpc.HeartbeatResponse: memberstate.SetOf(1)}, seen[f].says)
	for _, w := range seen {
		assert.Positive(t, w.before)
		assert.Equal(t, w.before, w.after)
	}
}

// Observers are members, too: they are answered as such, and not as strangers.
func TestAnAnswerToAnObserverIsSeen(t *testing.T) {
	d := newRecorders(t, 3)[0]
	d.start()
	d.group.Rules.Voters = memberstate.SetOf(1, 2)
	w := &witness{t: t, says: map[rpc.Kind]memberstate.Set{}}
	d.node.Inspect(w)
	m := d.asks("n2")
	m.Kind = rpc.Heartbeat
	d.node.Deliver(&d.group, m)
	assert.Equal(t, memberstate.SetOf(3), w.says[rpc.HeartbeatResponse])
}
