// The messages that have arrived for a node and wait for its next turn.
//
// They are in blocks. A block is free again when its messages have been handled, so a burst
// takes memory only while it lasts: a few free blocks are kept, and the garbage collector gets
// the others.

package protocol

import (
	"slices"

	"github.com/hustings/hustings/rpc"
)

const (
	// maxArrived bounds the messages that wait. Messages beyond it are dropped: they would be
	// late anyway, because the node has fallen far behind.
	maxArrived = 1 << 16
	// spareBlocks is how many free blocks are kept.
	spareBlocks = 16
)

// arrivals is a queue of messages.
type arrivals struct {
	blocks []*block // all but the last are full
	count  int      // of messages
}

// block is room for some messages.
type block struct {
	used     int
	messages [64]arrival
}

// arrival is a message and its group; nil if the node has no such group.
type arrival struct {
	group   *Group
	message rpc.Message
}

// Receive keeps messages for the next turn, as many as there is room for, and returns how many are
// lost. Without a group that takes part there will be no turn, and all are lost.
func (in *Intake) Receive(batch []rpc.Message) (lost int) {
	room := 0
	if in.live > 0 {
		room = min(maxArrived-in.arrived.count, len(batch))
	}
	for i := range room {
		a := in.place()
		a.group, a.message = in.groups.find(batch[i].Group), batch[i]
	}
	return len(batch) - room
}

// maxBeats bounds the nodes whose beats wait.
const maxBeats = 1024

// ReceiveBeat keeps a beat for the next turn, in place of an older one of the same node. It returns false
// if the beat is lost.
func (in *Intake) ReceiveBeat(b *rpc.Beat) bool {
	if in.live == 0 {
		return false
	}
	if i := slices.IndexFunc(in.beats, func(other *rpc.Beat) bool { return other.From == b.From }); i >= 0 {
		if !b.OlderThan(in.beats[i]) {
			in.beats[i] = b
		}
		return true
	}
	if len(in.beats) == maxBeats {
		return false
	}
	in.beats = append(in.beats, b)
	return true
}

// place is where the next message goes.
func (in *Intake) place() *arrival {
	q := &in.arrived
	last := len(q.blocks) - 1
	if last < 0 || q.blocks[last].used == len(q.blocks[last].messages) {
		q.blocks = append(q.blocks, in.room())
		last++
	}
	b := q.blocks[last]
	b.used++
	q.count++
	return &b.messages[b.used-1]
}

// room is a free block.
func (in *Intake) room() (b *block) {
	n := len(in.spare)
	if n == 0 {
		return new(block)
	}
	b, in.spare = in.spare[n-1], in.spare[:n-1]
	return b
}

// recycle takes back the room of messages that have been handled.
func (in *Intake) recycle(done *arrivals) {
	keep := min(spareBlocks-len(in.spare), len(done.blocks))
	in.spare = append(in.spare, done.blocks[:keep]...)
	clear(done.blocks)
	done.blocks, done.count = done.blocks[:0], 0
}

// moveTo moves the oldest messages to an empty queue: this many, and those in the same block as the last of them.
func (q *arrivals) moveTo(other *arrivals, most int) {
	if q.count <= most {
		*q, *other = *other, *q
		return
	}
	moved := 0
	for other.count < most {
		other.count += q.blocks[moved].used
		moved++
	}
	other.blocks = append(other.blocks, q.blocks[:moved]...)
	q.blocks, q.count = slices.Delete(q.blocks, 0, moved), q.count-other.count
}

// drain hands over all messages, in the order in which they came, and forgets them.
func (q *arrivals) drain(deliver func(*Group, *rpc.Message)) {
	for _, b := range q.blocks {
		for i := range b.used {
			deliver(b.messages[i].group, &b.messages[i].message)
		}
		clear(b.messages[:b.used])
		b.used = 0
	}
}
