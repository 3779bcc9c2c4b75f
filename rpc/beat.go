// Beats between nodes, and bonds, by which groups rely on them.
//
// In a group that is idle the leader sends a heartbeat to each member, and each answers. Two nodes that
// share many groups would so tell each other the same again and again: that they are there. Instead, a
// heartbeat may offer a bond, and the answer may take it. From then on one beat of the leader's node is a
// heartbeat in every group that is bonded, and one answer is the answer of every member that is. Both
// nodes count how often they have ended a bond. A beat carries that number, and the newest ends
// themselves, so it never speaks for a group that the other node believes to be bonded by mistake.

package rpc

import (
	"slices"
	"unicode/utf8"

	"github.com/hustings/hustings/memberstate"
)

// Session is what a bond or a beat belongs to: one start of the sender's process, and one of the
// addressee's, as far as the sender knows it.
type Session struct {
	// Incarnation is the sender's. It grows with every start of its process, and is never 0.
	Incarnation uint64
	// Of is the addressee's incarnation; 0 if the sender does not know it.
	Of uint64
}

// Bond is, in a heartbeat, the offer of a bond, and in its answer, whether the sender takes it. A message without
// one offers nothing, and takes nothing.
type Bond struct {
	Session
	// Count is how many bonds the sender had ended in the session: as a leader in a heartbeat, as a
	// follower in an answer.
	Count uint32
	// After is, in a heartbeat, the number of the newest beat that the sender's node had sent. A beat
	// counts for this bond if it is newer.
	After uint64
	// Epoch is, in an answer, how often the sender's node has given up the other for silent.
	Epoch uint32
	// Taken says, in an answer, that its sender is bonded.
	Taken bool
}

// Beat is what one node tells another about all groups that are bonded between them. It is a beat for the
// groups that the sender leads, and an answer for those that it follows. A node that gets news replies with
// a Beat of its own, which may have no new Number.
type Beat struct {
	// From and To are the ids of the two nodes.
	From, To string
	Session
	// Number is that of the sender's newest beat, which it has sent now or before; 0: none. It grows.
	Number uint64
	// Answers is the number of the addressee's newest beat that counted for the sender's node; 0: none.
	Answers uint64
	// Epoch is how often the sender has given up the addressee for silent.
	Epoch uint32
	// Released is how many bonds the sender has ended as a leader, and Departed as a follower.
	Released, Departed uint32
	// SeenReleased and SeenDeparted are how many of the addressee's the sender knows of.
	SeenReleased, SeenDeparted uint32
	// Deaf says that the sender has heard nothing of the addressee lately. What is sent to it is in vain.
	Deaf bool
	// Standing is the sender's.
	Standing Standing
	// Leads is one more than how many groups the sender leads; 0: it does not say, as older versions.
	Leads uint32
	// Extra is by how much the weight of these groups is more than their number, because some weigh more than the usual 1.
	Extra uint32
	// Capacity is how much the sender should lead, in hundredths of a usual node; 0: as much as one.
	Capacity uint16
	// Leavings are the oldest ends of bonds that the addressee does not know of, as far as the sender
	// knows: releases, then departures, each in the order of their numbers.
	Leavings []Leaving
}

// Leaving is the end of one group's bond.
type Leaving struct {
	Group string
	// Term is the one in which the group was bonded.
	Term memberstate.Term
	// Number counts the sender's leavings of this kind, from 1.
	Number uint32
	// Released says that the leader has ended the bond, otherwise the follower has.
	Released bool
}

// MaxLeavings bounds the leavings in one beat.
const MaxLeavings = 256

// WellFormed says whether a node can send this beat. One that is not well formed must not reach a node.
func (b *Beat) WellFormed() bool {
	if b.Incarnation == 0 || !b.Standing.State.Valid() || len(b.Leavings) > MaxLeavings {
		return false
	}
	for i := range b.Leavings {
		l := &b.Leavings[i]
		if l.Group == "" || len(l.Group) > MaxGroupLength || !utf8.ValidString(l.Group) || l.Term == 0 || l.Number == 0 {
			return false
		}
	}
	return true
}

// OlderThan says whether the sender has sent another beat after this one.
func (b *Beat) OlderThan(other *Beat) bool {
	return b.Incarnation < other.Incarnation || b.Incarnation == other.Incarnation && b.Number < other.Number
}

// Clone is a copy that shares nothing that can be changed.
func (b *Beat) Clone() *Beat {
	c := *b
	c.Leavings = slices.Clone(b.Leavings)
	return &c
}

// BeatTransport is a Transport that carries beats, too.
type BeatTransport interface {
	Transport
	// SendBeat sends a beat to another node, before any message that waits for it. It never blocks. While
	// a beat waits, a newer one takes its place. It neither changes nor keeps the beat. A node that cannot take beats
	// gets none.
	SendBeat(to string, b *Beat)
}

// BeatHandler is a Handler that takes beats, too.
type BeatHandler interface {
	Handler
	// ReceiveBeat takes a beat that arrived for this node. It may keep it.
	ReceiveBeat(b *Beat)
}
