// Which of the processes that had a peer's id is at the other end of a connection.
//
// A process draws a random number when it starts, its incarnation. Such numbers have no
// order, and a clock cannot order them, because it may have stepped back while the node
// was down. So the order is taken from the connections. The node that is called numbers
// the Hellos as it answers them, and accepts a connection only when the caller has
// confirmed the answer. So the process was alive after its number was given. A process
// that had died before another started cannot confirm a larger number than the other's,
// however late its last packets arrive. Therefore a connection with a smaller number than
// an accepted one is stale.
//
// The same order proves that two processes run at the same time: one is heard, then
// another, and then the first again.
//
// Older versions do not confirm, and are accepted at once. Their Hellos prove nothing, so
// a stale one can still replace the connection of a living process.

package grpcrpc

import "slices"

// connection is a connection whose Hellos have been exchanged.
type connection struct {
	number      uint64 // orders the connections of a link by the answers to their Hellos
	incarnation uint64 // of the process at the other end
	confirmed   bool   // that process was alive after the number was given
	takesBeats  bool   // that process understands beats
	remote      string // its address
	meter       *meter
	hangUp      func(error)
}

// maxProcesses bounds how many processes of a peer are remembered.
const maxProcesses = 8

// processes are the confirmed processes of one peer.
type processes struct {
	heard []uint64 // their incarnations, in the order in which they were first heard
	last  uint64   // the one heard last
}

// returns says whether this process was heard before the last one. Then both run.
func (p *processes) returns(incarnation uint64) bool {
	return incarnation != p.last && slices.Contains(p.heard, incarnation)
}

// elder says whether one process was first heard before the other.
func (p *processes) elder(one, other uint64) bool {
	i, j := slices.Index(p.heard, one), slices.Index(p.heard, other)
	return i >= 0 && i < j
}

// hear records that a process was heard.
func (p *processes) hear(incarnation uint64) {
	if !slices.Contains(p.heard, incarnation) {
		if len(p.heard) == maxProcesses {
			oldest := 0
			if p.heard[oldest] == p.last {
				oldest++ // the process that was heard last is the likeliest to return
			}
			p.heard = slices.Delete(p.heard, oldest, oldest+1)
		}
		p.heard = append(p.heard, incarnation)
	}
	p.last = incarnation
}
