// What is in flight: messages of groups, and beats between nodes, each with what its sender did when it left.
//
// The network never forgets. Whatever was sent may arrive at any later time, any number of times, or never. So the
// network is a set, which only grows, and two messages that are equal are one.

package nodes

import (
	"fmt"
	"math/bits"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// parcel is a message or a beat.
type parcel struct {
	from, to int
	message  rpc.Message
	beat     *rpc.Beat // nil: it is a message
	said     saying    // of a beat
}

// saying is what the checks write down when a beat leaves, by group. It is taken from what the group's member
// shows, and from no bond.
type saying struct {
	leads   [mostGroups]memberstate.Term // that the sender leads now, and has led since the beat got its number; 0: none
	follows [mostGroups]memberstate.Term // in which it follows the addressee, see member.follows; 0: it does not
}

// key is equal for equal parcels only.
func (p *parcel) key() string {
	if p.beat != nil {
		return fmt.Sprint(p.from, p.to, *p.beat, p.said)
	}
	bond := rpc.Bond{}
	if p.message.Bond != nil {
		bond = *p.message.Bond
	}
	m := p.message
	m.Bond = nil
	return fmt.Sprint(p.from, p.to, m, p.message.Bond != nil, bond)
}

func (p *parcel) String() string {
	if b := p.beat; b != nil {
		return fmt.Sprintf("beat %d of n%d, which answers %d (releases %d of %d seen, departures %d of %d)", b.Number, p.from, b.Answers, b.Released, b.SeenReleased, b.Departed, b.SeenDeparted)
	}
	m := &p.message
	text := fmt.Sprintf("%v of n%d, %s in term %d", m.Kind, p.from, m.Group, m.Term)
	if m.Result != 0 {
		text += fmt.Sprintf(" (%v to term %d)", m.Result, m.Asked)
	}
	if m.Bond != nil {
		text += fmt.Sprintf(", bond %+v", *m.Bond)
	}
	return text
}

// parcels are all different ones.
type parcels struct {
	all  []parcel
	byID map[string]int
}

// id is a parcel's place among all.
func (s *parcels) id(p *parcel) int {
	key := p.key()
	id, known := s.byID[key]
	if !known {
		id = len(s.all)
		s.all, s.byID[key] = append(s.all, *p), id
	}
	return id
}

// mostMessages is how many different ones a search has room for.
const mostMessages = 1024

// network is a set of parcels.
type network [mostMessages / 64]uint64

func (n *network) add(id int)      { n[id/64] |= 1 << (id % 64) }
func (n *network) has(id int) bool { return id < mostMessages && n[id/64]>>(id%64)&1 != 0 }

// holds says whether all of another one are in it.
func (n *network) holds(other *network) bool {
	for i := range n {
		if other[i]&^n[i] != 0 {
			return false
		}
	}
	return true
}

func (n *network) size() (size int) {
	for _, part := range n {
		size += bits.OnesCount64(part)
	}
	return size
}
