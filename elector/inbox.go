// What has arrived for the loop.

package elector

import (
	"sync"

	"github.com/hustings/hustings/rpc"
)

// inbox has the messages that the loop has not taken yet. They lie in blocks,
// each of which is free again when its messages are worked off: what a burst
// needs is not kept, nor is it in use until the burst is over.
type inbox struct {
	blocks []*block // all but the last are full
	count  int      // of messages
}

// block is room for some messages.
type block struct {
	used     int
	arrivals [64]arrival
}

// arrival is a message with the elector that it is for; nil if there is none.
type arrival struct {
	at      *Elector
	message rpc.Message
}

// next is where the next message goes.
func (in *inbox) next(free *sync.Pool) *arrival {
	last := len(in.blocks) - 1
	if last < 0 || in.blocks[last].used == len(in.blocks[last].arrivals) {
		b, ok := free.Get().(*block)
		if !ok {
			b = new(block)
		}
		in.blocks = append(in.blocks, b)
		last++
	}
	b := in.blocks[last]
	b.used++
	in.count++
	return &b.arrivals[b.used-1]
}

// workOff delivers all messages, and leaves an empty inbox.
func (in *inbox) workOff(free *sync.Pool, deliver func(*arrival)) {
	for i, b := range in.blocks {
		for k := range b.used {
			deliver(&b.arrivals[k])
		}
		clear(b.arrivals[:b.used])
		b.used = 0
		free.Put(b)
		in.blocks[i] = nil
	}
	in.blocks, in.count = in.blocks[:0], 0
}
