// Outdated processes: a node that does not know all that it has said (D30).
//
// Each start of a node's process is counted in its store, so each process has a larger incarnation than those before
// it. A peer that has seen a larger incarnation of this node than this process has is therefore proof that the store was put
// back to an older copy, or that a second process runs under the same id. In both cases this node may have given votes
// of which this process knows nothing, so it must give none: all groups of the node end.
//
// The store has to remember that. Otherwise a process that is started again and again has soon counted as many starts
// as its peers have seen, and votes.
//
// A peer answers the messages of an earlier process, so that this one learns of the later one. Messages that were on
// their way when the process ended do no harm: their sender is gone.

package protocol

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// mostStarts bounds how many starts may lie between two incarnations of one node. No process is started so often. A new
// store begins to count at the time in seconds, which is less, too. Otherwise one forged message could make all later
// processes of a node seem to be earlier ones.
const mostStarts = 1 << 32

// An incarnation is the number of the start, then 14 bits of a random number, and below these room for as many sessions as one
// process begins anew. mostSessions of them do not reach the next start.
const startBits, nonceBits, mostSessions = 26, 14, 1 << 25

func incarnationOf(starts uint64, nonce uint16) uint64 {
	return starts<<startBits | uint64(nonce>>(16-nonceBits))*(mostSessions>>nonceBits)
}

// startOf is the number of the start in an incarnation.
func startOf(incarnation uint64) uint64 { return incarnation >> startBits }

// plausible says whether a node's process can have this incarnation, if another one is known.
func plausible(incarnation, known uint64) bool {
	return startOf(incarnation) <= startOf(known)+mostStarts
}

// onItsWay is for how long after the beginning of a session messages of an earlier process are no reason to warn.
const onItsWay = time.Minute

// sound says whether a message can be from a peer's process to this one, and counts it if it is not. It finds out whether
// this process is outdated, and warns of one of the peer that is.
func (n *Node) sound(p *peer, s rpc.Session) bool {
	n.beats.know(p)
	l := &p.link
	switch {
	case !plausible(s.Incarnation, l.peer) || !plausible(s.Of, l.own):
		n.edge.Drop(DropMalformed, 1)
	case s.Of > l.own:
		n.outlived(p.id, startOf(s.Of))
	case s.Incarnation < l.peer:
		if p.warned != s.Incarnation && n.now >= p.metAt+onItsWay {
			p.warned = s.Incarnation
			n.beats.edge.OlderProcess(p.id, startOf(s.Incarnation), startOf(l.peer))
		}
		return true
	default:
		return true
	}
	return false
}

// outlived notes that a peer has seen a later start of this node.
func (n *Node) outlived(peer string, start uint64) {
	if n.outdated != nil {
		return
	}
	n.outdated = Say(memberstate.ErrOutdated, "peer %q has seen start %d of node %q, and this is start %d: the node's store was put back "+
		"to an older copy, or a second process runs under its id. It may have forgotten votes, so it takes part in nothing any more",
		peer, start, n.self, startOf(n.beats.own))
	n.beats.edge.Outdated(n.outdated)
}

// marking is how far a node has come with marking its store as outdated.
type marking uint8

const (
	noMark     marking = iota
	markWanted         // when the save under way is done
	markSaving
	markSaved
)

// underWay says whether groups that have ended are not over yet. Otherwise a process might end before its store is marked.
func (m marking) underWay() bool { return m == markWanted || m == markSaving }

// endOutdated ends all groups of a process that is outdated, those that were started meanwhile, too.
func (n *Node) endOutdated() {
	if n.outdated == nil {
		return
	}
	if n.marking == noMark {
		n.marking = markWanted
	}
	for _, g := range n.edge.Groups() {
		n.end(g, n.outdated)
	}
}

// mark begins to mark the store.
func (n *Node) mark() {
	n.marking = markSaving
	n.edge.Save([]memberstate.Record{memberstate.OutdatedRecord(startOf(n.beats.own))})
}

// storeMarked ends what has waited for the mark.
func (n *Node) storeMarked(err error) {
	if n.marking = markSaved; err != nil {
		n.beats.edge.Outdated(fmt.Errorf("elector: marking the store as outdated: %w", err))
	}
	for _, g := range n.edge.Groups() {
		n.conclude(g)
	}
}
