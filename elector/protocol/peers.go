// What goes out together: the messages of all groups that gather for one node in a turn.

package protocol

import (
	"math/bits"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// peers gathers messages for each node.
type peers struct {
	members   map[string]*peer // by id
	strangers map[string]*peer // that are answered once, and may never be heard of again; nil: none
	full      []*peer          // those with messages, in the order in which they got the first
}

// peer is a node that others may send to.
type peer struct {
	id    string
	batch []rpc.Message
}

// usualBatch is the length of a usual batch. A longer one is not kept until the end of the turn.
const usualBatch = 256

func newPeers() peers {
	return peers{members: make(map[string]*peer)}
}

func (n *Node) says(g *Group, to memberstate.Set, m *Message) {
	if n.inspector != nil {
		n.inspector.Says(g, to, m)
	}
}

// post puts a message into the batch for a member's node.
func (n *Node) post(g *Group, to memberstate.Seat, m *Message) {
	e := g.Electorate
	if missing := bits.Len64(uint64(e.Rules.All)) - len(e.peers); missing > 0 {
		e.peers = append(e.peers, make([]*peer, missing)...)
	}
	p := e.peers[to-1]
	if p == nil {
		p = find(n.peers.members, g.Members.ID(to))
		e.peers[to-1] = p
	}
	n.gather(g, p, m)
}

// postStranger answers a node that is no member.
func (n *Node) postStranger(g *Group, to string, m *Message) {
	if n.peers.strangers == nil {
		n.peers.strangers = make(map[string]*peer)
	}
	n.gather(g, find(n.peers.strangers, to), m)
}

func find(peers map[string]*peer, id string) *peer {
	p := peers[id]
	if p == nil {
		p = &peer{id: id}
		peers[id] = p
	}
	return p
}

func (n *Node) gather(g *Group, p *peer, m *Message) {
	if len(p.batch) == 0 {
		n.peers.full = append(n.peers.full, p)
	}
	if last := len(p.batch); last < cap(p.batch) {
		p.batch = p.batch[:last+1] // the message that was there has been sent
	} else {
		p.batch = append(p.batch, rpc.Message{})
	}
	g.write(m, &p.batch[len(p.batch)-1], n.self, p.id)
	if len(p.batch) >= usualBatch {
		n.send(p)
	}
}

// write turns a machine's message into a transport's. It sets every field, because another message
// may be there.
func (g *Group) write(m *Message, as *rpc.Message, self, to string) {
	as.Group, as.From, as.To, as.Leader = g.name, self, to, g.Members.ID(m.Leader)
	as.Voters = g.Members.Digest()
	as.Body = m.Body
}

// flush sends what has gathered for each node.
func (n *Node) flush() {
	for i, p := range n.peers.full {
		if len(p.batch) > 0 {
			n.send(p)
		}
		n.peers.full[i] = nil
	}
	n.peers.full = n.peers.full[:0]
	if len(n.peers.strangers) > 0 {
		clear(n.peers.strangers)
	}
}

// send leaves the messages where they are, because they refer only to names.
func (n *Node) send(p *peer) {
	n.edge.Send(p.id, p.batch)
	p.batch = p.batch[:0]
}
