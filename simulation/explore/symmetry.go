// Symmetry: states that differ only by the members' seats are one, the first of their orbit.
//
// The intuition: a group in which n0 leads and n1 follows can do whatever a group can do in which n1 leads and
// n0 follows, with other names. So of all states that renaming turns into each other one is kept.
//
// The cases:
//
//   - The state. It is kept under the renaming that makes it the smallest.
//   - What a node can do, given what it may receive. It is worked out for one node of each orbit, and renamed for
//     the others.
//   - The code is known not to be symmetric in one case: a leader that has to choose a successor goes by seats.
//     Such an input is given to the node in every seat, so the node may choose as any of them would.
//   - In groups of up to three every input except stale messages is treated like this, so symmetry is not assumed
//     there. A test finds inputs that depend on seats and are not listed.
//
// The shortcut that looks right and is wrong is to sort the nodes of a state and to leave the messages as they are. A
// message names its sender and its receiver, so it must be renamed with them.

package explore

import (
	"cmp"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// renaming gives every member another seat, by index of the old one.
type renaming [mostMembers]uint8

func (r renaming) of(seat memberstate.Seat) memberstate.Seat {
	if seat == memberstate.Nobody {
		return seat
	}
	return seatOf(int(r[seat-1]))
}

// after is the composition: first, and then this renaming.
func (r renaming) after(first renaming) (both renaming) {
	for i := range both {
		both[i] = r[first[i]]
	}
	return both
}

// inverse is the inverse.
func (r renaming) inverse() (back renaming) {
	for i, to := range r {
		back[to] = uint8(i)
	}
	return back
}

// identity is the identity.
func identity() (r renaming) {
	for i := range r {
		r[i] = uint8(i)
	}
	return r
}

// renamings are all that a group of this size has, the identity first.
func renamings(members int) (all []renaming) {
	var place func(r renaming, at int)
	place = func(r renaming, at int) {
		if at == members {
			all = append(all, r)
			return
		}
		for i := at; i < members; i++ {
			r[at], r[i] = r[i], r[at]
			place(r, at+1)
			r[at], r[i] = r[i], r[at]
		}
	}
	place(identity(), 0)
	return all
}

// asymmetric says whether the effect of an input on a machine depends on seats. It should only if the machine
// has to choose a successor, by turns, which a test checks. In small groups every input is treated as if it did.
func (m *model) asymmetric(in input) bool {
	switch in.kind {
	case resigns, leadReturns: // an early return resigns
		return true
	case delivered:
		return choosesNext(&m.messages[in.message].body)
	case stale:
		return choosesNext(&m.registry.stale[in.staleIndex])
	default:
		return false
	}
}

// choosesNext says whether a machine that receives a message may have to choose a successor.
func choosesNext(msg *protocol.Message) bool { return msg.Kind == rpc.TakeLeadershipResponse }

func (n *node) renamed(r renaming) node {
	other := *n
	other.seat, other.session = r.of(n.seat), n.session.Renamed(r.of)
	return other
}

// sorted is a renaming that makes all nodes of an orbit equal: the node itself comes first, and then the others
// by their signatures.
func (n *node) sorted(members int) (to renaming) {
	to = identity()
	seats := make([]memberstate.Seat, members)
	for i := range seats {
		seats[i] = seatOf(i)
	}
	part := func(s memberstate.Seat) uint64 {
		if s == n.seat {
			return 0
		}
		return 1 + n.session.SeatSignature(s)
	}
	slices.SortFunc(seats, func(a, b memberstate.Seat) int { return cmp.Compare(part(a), part(b)) })
	for i, s := range seats {
		to[s-1] = uint8(i)
	}
	return to
}

func (msg message) renamed(r renaming) message {
	msg.to, msg.body = r.of(msg.to), msg.body.Renamed(r.of)
	return msg
}

// internRenamed gives nodes a name in every seat, if they have none yet.
func (m *model) internRenamed(nodes []nodeID) {
	var unnamed []nodeID
	for _, id := range nodes {
		for len(m.renamedNodes) <= int(id) {
			m.renamedNodes = append(m.renamedNodes, nil)
		}
		if m.renamedNodes[id] == nil {
			m.renamedNodes[id] = make([]nodeID, len(m.renamings))
			unnamed = append(unnamed, id)
		}
	}
	for r := range m.renamings {
		for _, id := range unnamed {
			other := m.nodes[id].renamed(m.renamings[r])
			m.renamedNodes[id][r] = m.intern(&other)
		}
	}
}

// renameMessage is a message with the members in other seats.
func (m *model) renameMessage(id messageID, by int) messageID {
	known := &m.renamedMessages[by]
	for int(id) >= len(*known) {
		*known = append(*known, 0)
	}
	if (*known)[id] == 0 {
		(*known)[id] = m.message(m.messages[id].renamed(m.renamings[by])) + 1
	}
	return (*known)[id] - 1
}

// renameMessages is a set of messages with the members in other seats.
func (m *model) renameMessages(s *messageSet, by int) (renamed messageSet) {
	for id := range s.all {
		renamed.add(m.renameMessage(id, by))
	}
	return renamed
}

// compose is the number of the composition of two renamings.
func (m *model) compose(second, first int) int {
	return m.numbered[m.renamings[second].after(m.renamings[first])]
}

// canonicalKey is the first key of the orbit of this one, and the number of the renaming that leads there. Only
// for that key it is worked out what a node can do.
func (m *model) canonicalKey(key *expansionKey) (least expansionKey, by int) {
	n := m.nodes[key.node]
	to := n.sorted(m.bounds.Members)
	like := n.renamed(to)
	least = expansionKey{node: m.intern(&like), othersTerm: key.othersTerm}
	for k, same := range m.unchanging(least.node) {
		r := m.numbered[m.renamings[same].after(to)]
		heard := m.renameMessages(&key.mayReceive, r)
		if k == 0 || slices.Compare(heard[:], least.mayReceive[:]) < 0 {
			least.mayReceive, by = heard, r
		}
	}
	if least == *key {
		by = 0
	}
	return least, by
}

// unchanging are the renamings that leave a node as it is.
func (m *model) unchanging(id nodeID) []int {
	for len(m.unchanged) <= int(id) {
		m.unchanged = append(m.unchanged, nil)
	}
	if m.unchanged[id] == nil {
		for r := range m.renamings {
			if m.nodes[id].renamed(m.renamings[r]) == m.nodes[id] {
				m.unchanged[id] = append(m.unchanged[id], r)
			}
		}
	}
	return m.unchanged[id]
}

// renameNode is a node with the members in other seats.
func (m *model) renameNode(id nodeID, by int) nodeID {
	if by == 0 {
		return id
	}
	other := m.nodes[id].renamed(m.renamings[by])
	return m.intern(&other)
}

// renameSent is the same for a list of messages.
func (m *model) renameSent(ids []messageID, by int) []messageID {
	renamed := make([]messageID, len(ids))
	for i, id := range ids {
		renamed[i] = m.renameMessage(id, by)
	}
	return renamed
}

// renameNodes renames the nodes, and says whether the result comes before or after the least so far. Mostly the
// first node decides.
func (m *model) renameNodes(nodes *[mostMembers]nodeID, by int, other, least *[mostMembers]nodeID) (order int) {
	for to, i := range m.inverseRenamings[by][:m.bounds.Members] {
		other[to] = m.renamedNodes[nodes[i]][by]
		if order == 0 {
			order = cmp.Compare(other[to], least[to])
		}
		if order > 0 {
			break
		}
	}
	return order
}

// canonical is the first state of the orbit of this one, and the number of the renaming that leads there.
func (m *model) canonical(s *state) (least state, by int) {
	m.internRenamed(s.nodes[:m.bounds.Members])
	least = *s
	for r := 1; r < len(m.renamings); r++ {
		var other state
		order := m.renameNodes(&s.nodes, r, &other.nodes, &least.nodes)
		if order > 0 {
			continue
		}
		other.sent = m.renameMessages(&s.sent, r)
		if order < 0 || slices.Compare(other.sent[:], least.sent[:]) < 0 {
			least, by = other, r
		}
	}
	return least, by
}
