// Whatever is left to chance: how long a message takes, a save, an alarm; what a
// crash leaves on a disk.
//
// Every choice has an address: its kind, its place (a node, or a link), and which of
// its kind at its place it is. A seed gives every place a stream of random numbers of
// its own, so that a run from which one fault was taken away is still much like the
// one before. A scenario has no seed: it names the choices that matter, and all others
// are as dull as can be. A tape notes what was chosen in a run, so that a seed can be
// made into a scenario.

package simulation

import (
	"math/bits"
	"time"
)

// Kind of a choice.
type choiceKind uint8

const (
	chooseFate   choiceKind = iota // of a message: whether it arrives, when, and how often
	chooseCopy                     // of an engine's message, the same
	chooseWait                     // until an alarm rings, in the range that the machine gives
	chooseSave                     // how long the disk takes
	chooseTorn                     // what a crash leaves of what was not synced
	chooseWrite                    // how long an engine takes to write what it was sent
	chooseTick                     // until an engine writes again
	chooseStop                     // how long an engine's Lead takes to return
	chooseLedger                   // until a slow engine has looked where its ledger ends
	chooseAnswer                   // and until it has said so
	choosePause                    // how long its Pause takes

	choiceKinds
)

var choiceNames = [choiceKinds]string{"message", "append", "wait", "save", "torn", "write", "tick", "stop", "ledger", "answer", "pause"}

// ofLink says whether the place of such a choice is a link.
func (k choiceKind) ofLink() bool { return k <= chooseCopy }

// choice is the address of one. Of a message the place is a link.
type choice struct {
	kind     choiceKind
	node, to uint8
	number   uint32 // from 1
}

// chosen is what was chosen. Of a message: how long it takes, or lost, and how long
// its second copy takes, if there is one. Of what a crash leaves: a number to draw
// from. Else: a time.
type chosen struct{ first, second int64 }

// lost is the time that a message takes which never arrives.
const lost = -1

// choices are all that a run makes.
type choices struct {
	seed    uint64
	streams [2*maxNodes*maxNodes + int(choiceKinds)*maxNodes]stream
	script  map[choice]chosen // of a scenario; nil if a seed decides
	tape    map[choice]chosen // nil if nobody wants to know
}

// stream is the random numbers of one place.
type stream struct {
	state uint64
	count uint32
}

// reseed gives all places new streams. What was chosen before stays.
func (c *choices) reseed(seed uint64) {
	c.seed = seed
	for i := range c.streams {
		c.streams[i].state = scramble(seed ^ scramble(uint64(i)+1))
	}
}

// scramble is the finalizer of a well-known generator, splitmix64: every bit of its
// result depends on every bit of its argument.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// next is the next random number of a place.
func (s *stream) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return scramble(s.state)
}

func (c *choices) stream(kind choiceKind, node, to uint8) *stream {
	if kind.ofLink() {
		return &c.streams[(int(kind)*maxNodes+int(node))*maxNodes+int(to)]
	}
	return &c.streams[2*maxNodes*maxNodes+int(kind)*maxNodes+int(node)]
}

// span chooses a time from a range; in a scenario it is dull, if nothing else is said.
func (c *choices) span(kind choiceKind, node int, least, most, dull time.Duration) time.Duration {
	s := c.stream(kind, uint8(node), 0)
	s.count++
	var d time.Duration
	switch {
	case c.script != nil:
		d = dull
		if given, ok := c.script[choice{kind, uint8(node), 0, s.count}]; ok {
			d = time.Duration(given.first)
		}
	case most > least:
		d = least + time.Duration(below(s.next(), uint64(most-least)))
	default:
		d = least
	}
	if c.tape != nil && d != dull {
		c.tape[choice{kind, uint8(node), 0, s.count}] = chosen{first: int64(d)}
	}
	return d
}

// number chooses a number; in a scenario it is 0, if nothing else is said.
func (c *choices) number(kind choiceKind, node int) uint64 {
	s := c.stream(kind, uint8(node), 0)
	s.count++
	n := s.next() >> 1
	if c.script != nil {
		n = uint64(c.script[choice{kind, uint8(node), 0, s.count}].first)
	}
	if c.tape != nil && n != 0 {
		c.tape[choice{kind, uint8(node), 0, s.count}] = chosen{first: int64(n)}
	}
	return n
}

// below maps random bits to a number below a limit.
func below(random, limit uint64) uint64 {
	high, _ := bits.Mul64(random, limit)
	return high
}

// chance says whether something happens whose probability is given in parts of 65,536.
func chance(random uint64, parts uint32) bool { return random&0xffff < uint64(parts) }
