// Messages between members.

package rpc

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// MaxGroupLength bounds the name of a group, in bytes.
const MaxGroupLength = 255

// Message is a message from one member of a group to another.
type Message struct {
	// Group is the group that both are members of.
	Group string
	// From and To are the ids of the sender and the addressee.
	From, To string
	// Leader is, in an answer, the leader that the sender knows in its term; in
	// a vote request marked Handed, the leader that handed over; in
	// TakeLeadership, the voter that should lead. Empty: none.
	Leader string
	// Voters is the digest of the sender's list of voters.
	Voters uint64
	// Bond is, in heartbeats and their answers, about the bond of the two members' nodes; nil: the
	// message says nothing of it. Nobody changes it once the message is sent, so all who have the message
	// may keep it.
	Bond *Bond
	Body
}

// Body is the content of a message, without sender and addressee.
type Body struct {
	Kind   Kind
	Result Result // in answers: the outcome of the request
	Mark   Mark   // in requests, and echoed in their answers

	// Promised says, in the answer to a heartbeat, that the sender will refuse
	// every other candidate for as long as the heartbeat's Lease.
	Promised bool

	// Round numbers the sender's rounds of votes, or of heartbeats. Answers
	// echo it, so that each counts for the round it belongs to.
	Round uint32
	// Term is the sender's term; in a vote request marked PreVote, the term
	// that it would stand in.
	Term memberstate.Term
	// Asked is, in an answer, the Term of the request.
	Asked memberstate.Term

	// Ledger is, in vote requests, the end of the sender's ledger; in
	// TakeLeadership, the end that the new leader's ledger must have reached; in
	// votes marked Vouched, the same.
	Ledger memberstate.Position

	// Lease is, in heartbeats, the length of the lease that the leader relies on;
	// zero if it relies on none.
	Lease time.Duration
	// Detection is, in heartbeats, how long the leader may be silent before it is to be taken for
	// dead; zero if it does not say.
	Detection time.Duration
	// RoundTrip is, in heartbeats, the round-trip time that the leader has measured;
	// zero if it does not know.
	RoundTrip time.Duration

	// Unable are, in heartbeats, the voters that the leader knows not to be able to lead, itself
	// included; in answers it is the sender, or nobody; in TakeLeadership the voter that should lead, if
	// the leader knows that its node does not serve, and of nobody better.
	Unable memberstate.Set
}

// WellFormed says whether a member can send this body. A body that is not well formed must
// not reach a machine.
func (b *Body) WellFormed() bool {
	return b.Result.Answers(b.Kind) && b.Mark.Valid() && b.Lease >= 0 && b.Detection >= 0 && b.RoundTrip >= 0 &&
		(b.Mark != Vouched || b.Kind == VoteResponse && b.Result == Accept) &&
		(b.Term > 0 || !b.Kind.asks())
}

// Kind is the kind of a message.
type Kind uint8

const (
	// VoteRequest asks for a vote, or with mark PreVote whether one would be given.
	VoteRequest Kind = iota + 1
	// VoteResponse answers it.
	VoteResponse
	// Heartbeat says that the sender leads.
	Heartbeat
	// HeartbeatResponse answers it.
	HeartbeatResponse
	// TakeLeadership asks the message's Leader to stand in place of the sender, and
	// the other voters to vote for it. With mark PreVote it asks the Leader whether
	// it could take over.
	TakeLeadership
	// TakeLeadershipResponse answers it.
	TakeLeadershipResponse
)

var kindNames = [...]string{
	VoteRequest:            "vote",
	VoteResponse:           "vote answer",
	Heartbeat:              "heartbeat",
	HeartbeatResponse:      "heartbeat answer",
	TakeLeadership:         "take leadership",
	TakeLeadershipResponse: "take leadership answer",
}

// String names the kind for logs.
func (k Kind) String() string { return name(kindNames[:], uint8(k), "kind") }

// asks says whether a message of this kind is a request. The sender of a request leads its
// term or stands in it, so the term is never 0, in which every member begins.
func (k Kind) asks() bool { return k == VoteRequest || k == Heartbeat || k == TakeLeadership }

// Valid says whether k is one of the kinds above.
func (k Kind) Valid() bool { return k >= VoteRequest && k <= TakeLeadershipResponse }

// Periodic says whether messages of this kind are repeated soon. They are the first to be
// dropped when a queue is full.
func (k Kind) Periodic() bool { return k == Heartbeat || k == HeartbeatResponse }

// Mark qualifies a request.
type Mark uint8

const (
	// Plain is an ordinary request.
	Plain Mark = iota
	// PreVote asks what the answer would be, and does not change the receiver.
	PreVote
	// Won says that the candidate has just won a pre-vote for this term.
	Won
	// Handed says that the leader of the previous term has asked the candidate
	// to stand in its place; the message's Leader is that leader.
	Handed
	// Vouched marks a vote that is given because that leader asked for it, before
	// the candidate has asked.
	Vouched
)

var markNames = [...]string{Plain: "plain", PreVote: "pre-vote", Won: "won", Handed: "handed", Vouched: "vouched"}

// String names the mark for logs.
func (m Mark) String() string { return name(markNames[:], uint8(m), "mark") }

// Valid says whether m is one of the marks above.
func (m Mark) Valid() bool { return m <= Vouched }

// Result is the outcome of a request, with one name for every reason to refuse.
type Result uint8

const (
	// Accept: the vote is given, or would be; the leadership is taken.
	Accept Result = iota + 1
	// RejectUnknownLeader: the candidate is no voter of this group.
	RejectUnknownLeader
	// RejectUnexpectedLeader: the candidate has the receiver's own id.
	RejectUnexpectedLeader
	// RejectExpiredVoteTerm: the candidate's term is smaller than the voter's.
	RejectExpiredVoteTerm
	// RejectAlreadyHasLeader: the voter has a leader and supports it, or may have promised before a
	// crash to stand by one.
	RejectAlreadyHasLeader
	// RejectAlreadyVoted: the voter has voted for another candidate in this term.
	RejectAlreadyVoted
	// RejectTermNotReady: the term is new to the voter, which has adopted it and
	// can be asked again.
	RejectTermNotReady
	// RejectExpiredLedgerTerm: the voter's ledger ends in a later term.
	RejectExpiredLedgerTerm
	// RejectSmallLedgerEndIndex: the voter's ledger is longer.
	RejectSmallLedgerEndIndex
	// RejectTermSmallThanLedger: the voter's ledger ends in a larger term than
	// the one voted in.
	RejectTermSmallThanLedger
	// RejectTakingLeadership: the voter itself is about to take over.
	RejectTakingLeadership

	// Success: the member follows the leader.
	Success
	// UnknownMember: the sender of the heartbeat is no voter of this group.
	UnknownMember
	// UnexpectedMember: the sender has the receiver's own id.
	UnexpectedMember
	// ExpiredTerm: the leader's term is smaller than the member's.
	ExpiredTerm
	// InconsistentLeader: the member knows another leader of this term.
	InconsistentLeader
	// TermNotReady: the term is new to the member, which has adopted it and expects
	// another heartbeat.
	TermNotReady

	// NotFollowing: the addressee of TakeLeadership does not follow the sender.
	NotFollowing
	// LedgerBehind: its ledger has not reached the required position.
	LedgerBehind
	// NotAble: it follows the sender, but is not able to lead. In a HeartbeatResponse it answers
	// no heartbeat: a follower has become unable, and says so at once.
	NotAble
)

var resultNames = [...]string{
	Accept:                    "ACCEPT",
	RejectUnknownLeader:       "REJECT_UNKNOWN_LEADER",
	RejectUnexpectedLeader:    "REJECT_UNEXPECTED_LEADER",
	RejectExpiredVoteTerm:     "REJECT_EXPIRED_VOTE_TERM",
	RejectAlreadyHasLeader:    "REJECT_ALREADY_HAS_LEADER",
	RejectAlreadyVoted:        "REJECT_ALREADY_VOTED",
	RejectTermNotReady:        "REJECT_TERM_NOT_READY",
	RejectExpiredLedgerTerm:   "REJECT_EXPIRED_LEDGER_TERM",
	RejectSmallLedgerEndIndex: "REJECT_SMALL_LEDGER_END_INDEX",
	RejectTermSmallThanLedger: "REJECT_TERM_SMALL_THAN_LEDGER",
	RejectTakingLeadership:    "REJECT_TAKING_LEADERSHIP",
	Success:                   "SUCCESS",
	UnknownMember:             "UNKNOWN_MEMBER",
	UnexpectedMember:          "UNEXPECTED_MEMBER",
	ExpiredTerm:               "EXPIRED_TERM",
	InconsistentLeader:        "INCONSISTENT_LEADER",
	TermNotReady:              "TERM_NOT_READY",
	NotFollowing:              "NOT_FOLLOWING",
	LedgerBehind:              "LEDGER_BEHIND",
	NotAble:                   "NOT_ABLE",
}

// String returns DLedger's name of the result, where DLedger has one.
func (r Result) String() string { return name(resultNames[:], uint8(r), "result") }

// Answers says whether r can answer a request of the kind that k answers.
func (r Result) Answers(k Kind) bool {
	switch k {
	case VoteResponse:
		return r >= Accept && r <= RejectTakingLeadership
	case HeartbeatResponse:
		return r >= Success && r <= TermNotReady || r == NotAble
	case TakeLeadershipResponse:
		return r == Accept || r == NotFollowing || r == LedgerBehind || r == NotAble
	case VoteRequest, Heartbeat, TakeLeadership:
		return r == 0
	}
	return false
}

func name(names []string, i uint8, what string) string {
	if int(i) < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}
