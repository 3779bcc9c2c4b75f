// Beats between nodes, as parcels of the network.

package simulation

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/invariant"
)

// exchange has the process exchange beats, if it is one that does.
func (n *node) exchange() {
	if !n.world.options.Beats || n.mute {
		n.Exchanges(0)
		return
	}
	starts, err := n.disk.CountStart()
	if err != nil {
		n.world.check.ViolatedBy(invariant.TermsRise, &n.Node, 0, "the start is not counted: %v", err)
	}
	nonce := uint16(choice.Scramble(uint64(n.Incarnation)<<40 | uint64(n.Index)<<32 | starts))
	n.Exchanges(starts<<26 | uint64(nonce/4)<<11)
	n.host.Exchange(starts, nonce, n)
}

// SendBeat sends a beat to one node.
func (n *node) SendBeat(to string, b *rpc.Beat) {
	if !n.Alive {
		return
	}
	addressee := n.world.at(n.world.seatOf(to), n.world.network.sent)
	n.world.check.BeatSent(&n.Node, &addressee.Node, b, n.local())
	n.world.network.sendBeat(n, addressee, b)
}

// sendBeat sends a beat. It goes by itself, before the messages of the turn.
func (n *network) sendBeat(from, to *node, b *rpc.Beat) {
	place := n.room()
	p := n.pool[place]
	p.beat, p.message = n.keep(b), rpc.Message{}
	p.from, p.to, p.group = uint8(from.Index), uint8(to.Index), 0
	p.engine, p.slowed, p.rest = false, false, 0
	n.count(p)
	n.dispatch(place)
}

// keep copies a beat, which its node writes anew for the next one. Copies are never changed, because a beat may be sent
// several times. Many are made at once, because there are as many beats as heartbeats.
func (n *network) keep(b *rpc.Beat) *rpc.Beat {
	if len(n.beats) == 0 {
		const some = 32
		n.beats = make([]rpc.Beat, some)
	}
	own := &n.beats[0]
	n.beats = n.beats[1:]
	*own = *b
	own.Leavings = slices.Clone(b.Leavings)
	return own
}

// takeBeat takes a beat from the network, in a turn of its own, now or when its pause ends.
func (n *node) takeBeat(p *parcel) {
	if n.Paused {
		n.intake.ReceiveBeat(p.beat)
		return
	}
	n.host.At(n.local())
	n.beat(p.beat)
	n.endTurn()
}

// beat gives the process a beat. One that exchanges none takes no notice of it.
func (n *node) beat(b *rpc.Beat) {
	if !n.Alive {
		return
	}
	if n.mute {
		n.host.Beat(b)
		return
	}
	from := n.world.at(n.world.seatOf(b.From), 0)
	n.world.check.BeatArrives(&n.Node, &from.Node, b)
	before := n.host.Answered(b.From)
	n.host.Beat(b)
	if sent := n.host.Answered(b.From); sent > before {
		n.world.check.Counted(&n.Node, &from.Node, sent)
	}
}

// Outdated and OlderProcess say what follows from that by themselves: see member.Ended.
func (*node) Outdated(error)                      {}
func (*node) OlderProcess(string, uint64, uint64) {}

// Group is the group of this name that the process has.
func (n *node) Group(name string) *protocol.Group { return n.intake.Group(name) }
