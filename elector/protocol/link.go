// A link: what one node knows of another, for all groups that they share (D15).
//
// In an idle group nothing happens but heartbeats and their answers, and each says the same as the one
// before. So two nodes exchange one beat, and one answer, for all of their groups. What a beat says is
// this and no more: in every group that the follower's node has bonded to the leader's, it is a heartbeat
// of the leader in its term, sent when the beat was, and taken in when the beat was. An answer is, in every
// group that the leader's node has bonded to the follower's, the follower's answer to that heartbeat. The
// proofs of the protocol hold because they hold for heartbeats.
//
// The difficulty is that the two nodes must agree on which groups these are, although messages are lost,
// late, and repeated. They need not always agree, but a beat must not count where they do not:
//
//   - Whoever ends a bond counts it, and tells the other: the leader a release, the follower a departure. A
//     beat, or an answer, says how many there were, and counts only for who knows of as many. So when a
//     leader has lost its office, none of its later beats renews a follower before that one has learned
//     of the release.
//   - A bond is made by a heartbeat and its answer, which carry the same numbers, and only if the other node
//     knows of exactly as many ends. If it knows of more, the message is older than one of them, which may
//     have been for this bond. If it knows of fewer, one that it learns of later could be for an earlier
//     bond of the same group in the same term, and would seem to be for this one.
//   - A leader's node takes an answer for a bond only if it is to a heartbeat that has offered the present ones: see bondTaken.
//   - A beat that was sent before the heartbeat that made a bond is not for it: its sender may have led an
//     earlier term then. So a follower's node takes no beat any more that is older than its newest bond.
//   - A follower's node that hears no beat for too long gives up all groups that follow the other, and
//     counts that as its epoch. Answers of an earlier epoch count no longer.
//   - A process that restarts has forgotten its bonds. Every message names a session, that is, which start
//     of the one process speaks to which start of the other, and counts only in the session that both are
//     in.
//
// A Link is a value, with no clock. Node keeps the times, and the groups.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Link is one node's part of a link. Leavings and epochs are counted from the beginning of the session, and may wrap.
type Link struct {
	own, peer uint64 // the session: this node's incarnation, and the other's; 0: not known
	more      bool   // the newest beat to the other had no room for all leavings that it does not know

	// For groups that this node leads.
	released     leavings
	seenDeparted uint32 // of the other's departures, known
	answered     uint64 // the newest beat of this node that the other has answered
	epoch        uint32 // of the other

	// For groups that this node follows.
	departed     leavings
	seenReleased uint32 // of the other's releases, known
	noticed      uint64 // the newest beat of the other, whether it counted or not
	heard        uint64 // the newest that counted
	floor        uint64 // only newer beats count
	silences     uint32 // the epoch of this node
}

// leavings are the ends of bonds that this node has counted.
type leavings struct {
	told uint32        // how many of them the other knows
	kept []rpc.Leaving // those after them
}

// mostLeavings bounds the leavings of either kind that are kept for a node that does not confirm them. Beyond it the
// session ends, and all bonds with it. They are so many that a node with a million groups can give up all of its
// offices at once, while others go on. At 32 bytes each they take 32 MB, and half of that again while they grow; but
// only while another node does not answer.
const mostLeavings = 1 << 20

func (l *leavings) count() uint32 { return l.told + uint32(len(l.kept)) }

func (l *leavings) add(group string, term memberstate.Term, released bool) {
	l.kept = append(l.kept, rpc.Leaving{Group: group, Term: term, Number: l.count() + 1, Released: released})
}

// confirm drops those that the other knows by now, and says how many these were.
func (l *leavings) confirm(seen uint32) int {
	known := seen - l.told
	if known > uint32(len(l.kept)) { // it is an old number, or an impossible one
		return 0
	}
	clear(l.kept[:known])
	if l.kept = l.kept[known:]; len(l.kept) == 0 { // to move the rest would take long if there is much of it
		l.kept = nil
	}
	l.told = seen
	return int(known)
}

// untold is how many leavings the other node does not know.
func (l *Link) untold() int { return len(l.released.kept) + len(l.departed.kept) }

// reaches says whether a counter has come as far as another, if they are not very far apart.
func reaches(counter, other uint32) bool { return int32(counter-other) >= 0 }

func (l *Link) session() rpc.Session { return rpc.Session{Incarnation: l.own, Of: l.peer} }

// meets compares a message's session with this one. Begins says that the other process has started
// again, so that a new session begins and all bonds of the old one are over. Current says that the
// message belongs to the session.
func (l *Link) meets(s rpc.Session) (begins, current bool) {
	if s.Incarnation > l.peer {
		begins = true
		*l = Link{own: l.own, peer: s.Incarnation}
	}
	return begins, s.Incarnation == l.peer && s.Of == l.own
}

// overflows says whether too many leavings are kept.
func (l *Link) overflows() bool {
	return max(len(l.released.kept), len(l.departed.kept)) > mostLeavings
}

// renew begins a new session as if this node had restarted, with a larger incarnation.
func (l *Link) renew(own uint64) { *l = Link{own: own, peer: l.peer} }

// offers is the bond that a leader's heartbeat offers. Newest is the newest beat of this node.
func (l *Link) offers(newest uint64) rpc.Bond {
	return rpc.Bond{Session: l.session(), Count: l.released.count(), After: newest}
}

// takes says whether a follower may take the bond that a heartbeat of this session offers, and if so,
// notes it. A follower that is bonded already has noted it before. If it did so again, a heartbeat that
// overtakes the beat which was sent before it would keep that beat from counting, for all groups.
func (l *Link) takes(b *rpc.Bond, already bool) bool {
	if b.Count != l.seenReleased {
		return false
	}
	if !already {
		l.floor = max(l.floor, b.After)
	}
	return true
}

// answers is what the answer to such a heartbeat says.
func (l *Link) answers(taken bool) rpc.Bond {
	return rpc.Bond{Session: l.session(), Count: l.departed.count(), Epoch: l.silences, Taken: taken}
}

// bonds says whether an answer of this session bonds a follower, and whether all that were bonded before
// are not any more.
func (l *Link) bonds(b *rpc.Bond) (bonded, allEnd bool) {
	allEnd = l.moves(b.Epoch)
	return b.Taken && b.Epoch == l.epoch && b.Count == l.seenDeparted, allEnd
}

// moves takes in the other's epoch, and says whether a new one has begun.
func (l *Link) moves(epoch uint32) bool {
	if reaches(l.epoch, epoch) {
		return false
	}
	l.epoch = epoch
	return true
}

// writes writes a beat, or an answer. Newest is the newest beat of this node. The beat tells of so many leavings at most.
func (l *Link) writes(b *rpc.Beat, newest uint64, most int) {
	b.Session, b.Number, b.Answers, b.Epoch = l.session(), newest, l.heard, l.silences
	b.Released, b.Departed = l.released.count(), l.departed.count()
	b.SeenReleased, b.SeenDeparted = l.seenReleased, l.seenDeparted
	b.Leavings = b.Leavings[:0]
	for _, all := range []*leavings{&l.released, &l.departed} {
		room := most - len(b.Leavings)
		b.Leavings = append(b.Leavings, all.kept[:min(room, len(all.kept))]...)
	}
	l.more = len(b.Leavings) < l.untold()
}

// tidings is what a beat brought.
type tidings struct {
	beat     bool // it counts for the groups that follow the other node
	answered bool // it answers a newer beat than those before
	allEnd   bool // no follower at the other node is bonded any more
	reply    bool // the other node waits for an answer, or for the rest of what it is told
}

// hears takes in a beat of this session. Newest is the newest beat of this node. Leave is called for each end of a bond that was
// not known yet, before anything else.
func (l *Link) hears(b *rpc.Beat, newest uint64, leave func(*rpc.Leaving)) (t tidings) {
	if l.released.confirm(b.SeenReleased)+l.departed.confirm(b.SeenDeparted) > 0 {
		// Until all are known no beat counts, so those for which there was no room do not wait for the next one. What is
		// confirmed may be fewer than there was room for, because beats that tell of some of the same are on their way together.
		t.reply = l.more
	}
	for i := range b.Leavings {
		one, seen := &b.Leavings[i], &l.seenDeparted
		if one.Released {
			seen = &l.seenReleased
		}
		if one.Number == *seen+1 {
			*seen++
			leave(one)
			t.reply = true // so that it need not tell it again
		}
	}
	if b.Number > l.noticed {
		l.noticed, t.reply = b.Number, true
	}
	if b.Released == l.seenReleased && b.Number > max(l.heard, l.floor) {
		l.heard, t.beat = b.Number, true
	}
	t.allEnd = l.moves(b.Epoch)
	if b.Epoch == l.epoch && b.Departed == l.seenDeparted && b.Answers > l.answered && b.Answers <= newest {
		l.answered, t.answered = b.Answers, true
	}
	return t
}
