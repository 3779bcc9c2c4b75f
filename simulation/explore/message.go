// Messages. A message that was sent stays: it may arrive at any time from then on.

package explore

import (
	"math/bits"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// messageID numbers a message; equal messages have the same number.
type messageID uint32

// message is a message of the election, or an append or its answer, which carry a ledger. That a member has
// led is noted as a message, too, which no node receives.
type message struct {
	to     memberstate.Seat // Nobody: to all others
	body   protocol.Message
	ledger ledger
	engine bool
	won    bool // its sender has led its term
}

// victory notes that a member has led a term.
func victory(leader memberstate.Seat, term memberstate.Term) message {
	return message{won: true, body: protocol.Message{From: leader, Body: rpc.Body{Term: term}}}
}

// isFor says whether it may arrive at a seat.
func (msg *message) isFor(seat memberstate.Seat) bool {
	return msg.to == seat || msg.to == memberstate.Nobody && msg.body.From != seat && !msg.won
}

// acknowledges says whether it is an engine's answer to an append.
func (msg *message) acknowledges() bool {
	return msg.engine && msg.body.Kind == rpc.HeartbeatResponse
}

// answersLeader says whether a message is an answer to a leader.
func (msg *message) answersLeader() bool {
	return !msg.engine && (msg.body.Kind == rpc.HeartbeatResponse || msg.body.Kind == rpc.TakeLeadershipResponse)
}

// asksForVote says whether a message is a request for a vote.
func (msg *message) asksForVote() bool {
	return !msg.engine && msg.body.Kind == rpc.VoteRequest && msg.body.Mark != rpc.PreVote
}

// ofRound says whether a message belongs to the round of votes that is under way at a member.
func (msg *message) ofRound(seat memberstate.Seat) bool {
	switch {
	case msg.engine || msg.body.Round != thisRound:
		return false
	case msg.body.Kind == rpc.VoteRequest:
		return msg.body.From == seat
	default:
		return msg.body.Kind == rpc.VoteResponse && msg.to == seat
	}
}

const (
	// thisRound is the number of the round of votes under way, in requests and in answers, and of
	// every request for a vote; roundOver is the number of all other rounds.
	roundOver = 0
	thisRound = 1
)

// messageSet is a set of messages.
type messageSet [mostMessages / 64]uint64

const mostMessages = 1024

// add enters a message, and says whether it is new.
func (s *messageSet) add(m messageID) bool {
	bit := uint64(1) << (m % 64)
	if s[m/64]&bit != 0 {
		return false
	}
	s[m/64] |= bit
	return true
}

func (s *messageSet) has(m messageID) bool { return s[m/64]>>(m%64)&1 != 0 }

func (s *messageSet) remove(m messageID) { s[m/64] &^= 1 << (m % 64) }

// words is the number of words up to the last that is not empty.
func (s *messageSet) words() int {
	for i, word := range slices.Backward(s[:]) {
		if word != 0 {
			return i + 1
		}
	}
	return 0
}

func (s *messageSet) len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// join adds all of another set.
func (s *messageSet) join(other *messageSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// and is the intersection.
func (s *messageSet) and(other *messageSet) (both messageSet) {
	for i := range s {
		both[i] = s[i] & other[i]
	}
	return both
}

// without is the difference.
func (s *messageSet) without(other *messageSet) (rest messageSet) {
	for i := range s {
		rest[i] = s[i] &^ other[i]
	}
	return rest
}

// all iterates over the set.
func (s *messageSet) all(yield func(messageID) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(messageID(i*64 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}
