// Which of the processes that had a peer's id is at the other end of a connection.
//
// A process draws a number when it starts, its incarnation. Such numbers have no
// order, and no clock can give them one: it may have stepped back while the node
// was down. The order is taken from the connections. Whoever is called numbers the
// Hellos as it answers them, and counts a connection only when the caller has
// confirmed the answer. So a process was alive after its number was given out. A
// process that had died before another started cannot confirm a later number than
// that one has, however long its last words are on their way. A connection with a
// smaller number than one that already counts is therefore a stale one.
//
// The same proves that two processes run at once: one is heard, then another, and
// then the first again.
//
// Peers of versions that do not confirm are believed at once, as they always were.
// Their Hellos prove nothing, so a stale one can still hang up on a living process.

package grpcrpc

import "slices"

// connection is one that came about.
type connection struct {
	number      uint64 // when its Hello was answered, among those of one link
	incarnation uint64 // of the process at the other end
	confirmed   bool   // that process was alive when it had been given its number
	remote      string // its address
	meter       *meter
	hangUp      func(error)
}

// maxProcesses bounds how many processes of a peer are remembered.
const maxProcesses = 8

// processes are those of one peer that were confirmed.
type processes struct {
	heard []uint64 // their incarnations, those heard first come first
	last  uint64   // the one heard last
}

// returns says whether this process was heard before the last one was. Then both run.
func (p *processes) returns(incarnation uint64) bool {
	return incarnation != p.last && slices.Contains(p.heard, incarnation)
}

// elder says whether the one process was first heard before the other.
func (p *processes) elder(one, other uint64) bool {
	i, j := slices.Index(p.heard, one), slices.Index(p.heard, other)
	return i >= 0 && i < j
}

// hear notes that a process has spoken.
func (p *processes) hear(incarnation uint64) {
	if !slices.Contains(p.heard, incarnation) {
		if len(p.heard) == maxProcesses {
			oldest := 0
			if p.heard[oldest] == p.last {
				oldest++ // the one that was heard last is the likeliest to return
			}
			p.heard = slices.Delete(p.heard, oldest, oldest+1)
		}
		p.heard = append(p.heard, incarnation)
	}
	p.last = incarnation
}
