// What goes out together: the messages of all groups that gather for one node in a turn.

package protocol

import (
	"math/bits"
	"slices"
	"time"

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
	named int // electorates with groups that take part, of which it is a member

	link       Link
	linked     bool          // the two nodes exchange beats
	reply      bool          // it waits for a reply
	hint       *hint         // that it is gone; nil: there is none
	offers     int           // groups led here that have offered it a bond
	spokeAt    time.Duration // when a beat or an answer of it arrived last
	deaf       bool          // it has said then that it heard nothing of this node lately
	seenAt     time.Duration // when anything of it arrived last, which is only shown; 0: nothing has
	standing   rpc.Standing  // that it has said last, in this session; or what an answer has shown since, see answersWithoutBond
	told       bool          // it has said one, and no answer has ended that since; otherwise it is taken to serve
	leads      uint32        // one more than how many groups it leads, as it has said last; 0: it has not
	extra      uint32        // by how much their weight is more than their number
	capacity   uint16        // that it has said; 0: the usual one
	given      int64         // the weight of groups whose handovers to it a drain has begun since
	metAt      time.Duration // when the session began
	warned     uint64        // the earlier process of it that was warned of last
	muteAt     time.Duration // when a message of it arrived although it sent no beats; 0: none has
	votesAt    time.Duration // when a request for votes of it arrived last, or an answer to one; 0: none has
	answeredAt time.Duration // when the newest beat was sent that it has answered; 0: none in this session
	followers  places        // groups here that are bonded to it
	heardAt    time.Duration // when its newest beat counted for them; or, if that is later, when the first of them was bonded
	wait       time.Duration // the shortest of the times for which they wait for it
}

// heardLast is when a beat arrived last, or something about votes; 0: nothing has.
func (p *peer) heardLast() time.Duration { return max(p.spokeAt, p.votesAt) }

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

// post puts a message into the batch for a member's node; with what it says of a bond, if it does.
func (n *Node) post(g *Group, to memberstate.Seat, m *Message, bond *rpc.Bond) {
	n.gather(g, n.peerOf(g, to), m, bond)
}

// peerOf is a member's node.
func (n *Node) peerOf(g *Group, to memberstate.Seat) *peer {
	return n.peerAt(g.Electorate, to)
}

func (n *Node) peerAt(e *Electorate, to memberstate.Seat) *peer {
	if missing := bits.Len64(uint64(e.Rules.All)) - len(e.peers); missing > 0 {
		e.peers = append(e.peers, make([]*peer, missing)...)
	}
	p := e.peers[to-1]
	if p == nil {
		p = find(n.peers.members, e.Members.ID(to))
		n.remember(p)
		e.peers[to-1] = p
	}
	return p
}

// forget forgets a node that no group names any more: its room for messages, and its place among those that every turn goes through. It first
// says, once, which bonds have ended. If that is lost, the other node finds out by silence.
//
// Of a node that has exchanged beats with this one the link is kept for a while, which is small. Both sides count in it what they have told
// each other, and the other side remembers its part for as long as its process runs. If this one began anew in the same session, old
// messages would seem to be of new bonds. So when too many links are kept, and all are dropped, this node speaks to whomever it gets to know
// after that with a larger incarnation, as if it had restarted. A beat of a forgotten node is dropped, like that of any node which no
// group names.
func (n *Node) forget(p *peer) {
	b := &n.beats
	if p.linked {
		if p.link.peer != 0 && p.link.untold() > 0 {
			n.sendBeat(p)
		}
		b.peers = slices.DeleteFunc(b.peers, func(other *peer) bool { return other == p })
	}
	if p.link.peer != 0 {
		b.keep(p)
	}
	delete(n.peers.members, p.id)
	delete(n.lost, p.id)
}

// mostMet bounds the links that are kept of nodes that were forgotten.
const mostMet = 1024

// keep keeps the link with a node that is forgotten.
func (b *beats) keep(p *peer) {
	if len(b.met) >= mostMet {
		clear(b.met)
		b.anew++
	}
	if b.met == nil {
		b.met = make(map[string]met)
	}
	b.met[p.id] = met{p.link, p.standing, p.told}
}

// met is what is kept of a node that is forgotten.
type met struct {
	link     Link
	standing rpc.Standing
	told     bool
}

// remember has a node that is named again go on in the session that it was in. What it has said of itself counts until it says something
// else. If it did not serve, it is asked.
func (n *Node) remember(p *peer) {
	if m, met := n.beats.met[p.id]; met {
		n.beats.know(p)
		p.link, p.standing, p.told = m.link, m.standing, m.told
		delete(n.beats.met, p.id)
		n.askAgain(p)
	}
}

// postStranger answers a node that is no member.
func (n *Node) postStranger(g *Group, to string, m *Message) {
	if n.peers.strangers == nil {
		n.peers.strangers = make(map[string]*peer)
	}
	n.gather(g, find(n.peers.strangers, to), m, nil)
}

func find(peers map[string]*peer, id string) *peer {
	p := peers[id]
	if p == nil {
		p = &peer{id: id}
		peers[id] = p
	}
	return p
}

func (n *Node) gather(g *Group, p *peer, m *Message, bond *rpc.Bond) {
	if len(p.batch) == 0 {
		n.peers.full = append(n.peers.full, p)
	}
	if last := len(p.batch); last < cap(p.batch) {
		p.batch = p.batch[:last+1] // the message that was there has been sent
	} else {
		p.batch = append(p.batch, rpc.Message{})
	}
	q := &p.batch[len(p.batch)-1]
	g.write(m, q, n.self, p.id)
	q.Bond = bond
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
