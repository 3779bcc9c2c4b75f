// The standing of a node: what it says in its beats of itself as a whole, so that its peers know whether to
// hand leaderships to it. Each node speaks for itself, and nobody decides for another. A standing belongs
// to one process, so nothing has to be cleared when that has ended.

package rpc

// NodeState is whether a node takes its share of leading.
type NodeState uint8

const (
	// Serving: it does.
	Serving NodeState = iota
	// Starting: not yet, because its engines' data is not complete.
	Starting
	// Draining: no more. It hands over everything that it leads.
	Draining
	// Drained: it has done so, and leads nothing.
	Drained

	nodeStates = iota
)

var nodeStateNames = [nodeStates]string{
	Serving: "serving", Starting: "starting", Draining: "draining", Drained: "drained",
}

// String names the state.
func (s NodeState) String() string { return name(nodeStateNames[:], uint8(s), "state") }

// Valid says whether the state is one of those above.
func (s NodeState) Valid() bool { return s < nodeStates }

// Standing is what a node says of itself. The zero Standing is that of a node that serves; a node of an
// older version says nothing else.
type Standing struct {
	State NodeState
	// Changes counts how often the state has changed in this process, because beats may overtake each other.
	Changes uint32
}
