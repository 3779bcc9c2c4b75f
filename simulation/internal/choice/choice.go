// Package choice makes all that is left to chance in a run: how long a message takes, a save or
// an alarm, and what a crash leaves on a disk.
//
// Every choice has an address: its kind, its place (a node, or a link), and its number among those
// of its kind at its place. A seed gives every place a stream of random numbers of its own, so that
// a run without one fault is still much like the run with it. A scenario has no seed: it names the
// choices that matter, and all others are normal. A tape notes what was chosen in a run, so that a
// seed can be made into a scenario.
package choice

import (
	"time"

	"github.com/hustings/hustings/simulation/internal/check"
)

// Kind is what a choice is about.
type Kind uint8

// The kinds of choices.
const (
	Fate   Kind = iota // of a message: whether it arrives, when, and how often
	Copy               // of an engine's message, the same
	Wait               // until an alarm rings, in the range that the machine gives
	Save               // how long the disk takes
	Torn               // what a crash leaves of what was not synced
	Write              // how long an engine takes to write what it was sent
	Tick               // until an engine writes again
	Stop               // how long an engine's Lead takes to return
	Ledger             // until a slow engine has looked where its ledger ends
	Answer             // and until it has said so
	Pause              // how long its Pause takes
	Health             // how long it takes to say whether it is well

	kinds
)

// OfLink says whether the place of such a choice is a link.
func (k Kind) OfLink() bool { return k <= Copy }

// Address names a choice. The place of a choice about a message is a link, from Node to To.
type Address struct {
	Kind     Kind
	Node, To uint8
	Number   uint32 // from 1
}

// Value is what was chosen. Of a message: how long it takes, or lost, and how long
// its second copy takes, if there is one. Of what a crash leaves: a number to draw
// from. Else: a time.
type Value struct{ First, Second int64 }

// Lost is the time that a message takes which never arrives.
const Lost = -1

// Choices are all that a run makes.
type Choices struct {
	Script map[Address]Value // of a scenario; nil if a seed decides
	Tape   map[Address]Value // where they are noted; nil if they are not

	streams [2*maxNodes*maxNodes + int(kinds)*maxNodes]Stream
}

// maxNodes bounds the nodes of a run.
const maxNodes = check.MaxNodes

// Stream is the random numbers of one place.
type Stream struct {
	Count uint32 // the choices that were made there
	state uint64
}

// Reseed gives all places new streams. What was chosen before stays.
func (c *Choices) Reseed(seed uint64) {
	for i := range c.streams {
		c.streams[i].state = Scramble(seed ^ Scramble(uint64(i)+1))
	}
}

// Next is the next random number of a place.
func (s *Stream) Next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return Scramble(s.state)
}

// Stream is that of a place.
func (c *Choices) Stream(kind Kind, node, to uint8) *Stream {
	if kind.OfLink() {
		return &c.streams[(int(kind)*maxNodes+int(node))*maxNodes+int(to)]
	}
	return &c.streams[2*maxNodes*maxNodes+int(kind)*maxNodes+int(node)]
}

// Span chooses a time from a range; in a scenario it is normal, if nothing else is said.
func (c *Choices) Span(kind Kind, node int, least, most, normal time.Duration) time.Duration {
	s := c.Stream(kind, uint8(node), 0)
	s.Count++
	var d time.Duration
	switch {
	case c.Script != nil:
		d = normal
		if given, ok := c.Script[Address{kind, uint8(node), 0, s.Count}]; ok {
			d = time.Duration(given.First)
		}
	case most > least:
		d = least + time.Duration(Below(s.Next(), uint64(most-least)))
	default:
		d = least
	}
	if c.Tape != nil && d != normal {
		c.Tape[Address{kind, uint8(node), 0, s.Count}] = Value{First: int64(d)}
	}
	return d
}

// Number chooses a number; in a scenario it is 0 unless a line says otherwise.
func (c *Choices) Number(kind Kind, node int) uint64 {
	s := c.Stream(kind, uint8(node), 0)
	s.Count++
	n := s.Next() >> 1
	if c.Script != nil {
		n = uint64(c.Script[Address{kind, uint8(node), 0, s.Count}].First)
	}
	if c.Tape != nil && n != 0 {
		c.Tape[Address{kind, uint8(node), 0, s.Count}] = Value{First: int64(n)}
	}
	return n
}
