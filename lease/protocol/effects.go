// The effects of a keeper.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Effects carry out the decisions of a keeper, in its order. None of them waits, and none
// calls Step.
type Effects interface {
	// Call calls the store or the waker. One Answer follows. Neither side changes c any
	// more.
	Call(c *Call)
	// Hold sets the end of a term's lease, which is new or extended. A new one is not shown
	// before the view of its leader. If the lease was already seen expired, it stays expired,
	// and a Lapse follows.
	Hold(name string, term memberstate.Term, until time.Duration)
	// Publish sets the view of this candidate. In the same moment a leader is shown to hold its
	// lease, and any other candidate to hold none: a reader that found only one of them would take
	// the office for lost.
	Publish(name string, v View)
	// Withdraw ends the context of a term's Lead at once. The view before it shows no lease any more.
	Withdraw(name string, term memberstate.Term)
	// Lead calls the service's Lead for a term. One Returned follows.
	Lead(name string, term memberstate.Term)
	// Vouched takes the service's word that it has done useful work: it says whether the service has
	// given it since the last call.
	Vouched(name string) bool
	// AskHealth asks the service whether it is able to lead. One Health follows, unless it returns
	// false, because the service answers no such question.
	AskHealth(name string) bool
	// AskStalled asks which leases have services that cannot work. One Stalled follows, and is expected within
	// a time; unless it returns false, because there is nobody to ask, now or later.
	AskStalled(within time.Duration) bool
	// Vacate says that the office of a term is over: its lease was released or, with an
	// error, has expired unreleased. A keeper calls it once for every Lead.
	Vacate(name string, term memberstate.Term, err error)
	// Tell reports a note to people.
	Tell(n Note)
	// End says that a lease that was retired has ended. No effect follows for it, and its
	// name may be used again.
	End(name string)
	// Draw draws a duration between least and most.
	Draw(least, most time.Duration) time.Duration
}

// View is the published state of a candidate.
type View struct {
	Role   memberstate.Role
	Term   memberstate.Term
	Leader string // an identity; empty: no leader is known
	// Last is the leader that was shown before, and Departure is why it leads no more.
	Last      string
	Departure Departure
	// Inability is why this candidate is not able to lead.
	Inability Inability
	// Stopped says that it no longer takes part. This is the last view.
	Stopped bool
}

// Kind is a kind of call.
type Kind uint8

// The kinds of calls.
const (
	// Read reads the records of Names.
	Read Kind = iota
	// Acquire makes the Claim.
	Acquire
	// Renew renews the leases in Held.
	Renew
	// Release releases the one lease in Held.
	Release
	// Wake wakes others for the one lease in Names.
	Wake
	// Listen listens for the wake-ups of others, each of which becomes a Woken. It goes on
	// until it fails, or until the last lease has ended.
	Listen
)

// kinds is the number of kinds.
const kinds = int(Listen) + 1

// Call is a call of the store, or of the waker.
type Call struct {
	Number  uint64
	Kind    Kind
	Names   []string
	Held    []Held
	Claim   Claim
	Timeout time.Duration // the longest wait for an answer; 0: for ever
}

// Note is a report for people.
type Note struct {
	Topic Topic
	Kind  Kind // Fails, Works: of the calls
	// Name and Term are those of the lease that the note is about, if it is about one.
	Name   string
	Term   memberstate.Term
	Known  memberstate.Term // Forgotten: the largest known term
	Leases int              // Fails: how many leases the call was about
	Count  int              // Fails: how many calls have failed since the last such note
	Why    Inability        // NotAble
	Err    error            // Fails, ReturnedEarly; NotAble: the service's answer, if that is why
}

// Topic is the subject of a note.
type Topic uint8

// The topics.
const (
	// Fails says that calls of a kind fail.
	Fails Topic = iota
	// Works says that they work again.
	Works
	// RanOut says that a lease expired before it could be renewed.
	RanOut
	// TakenAway says that, by its record, this candidate no longer holds the lease.
	TakenAway
	// ReturnedEarly says that Lead returned before its context ended.
	ReturnedEarly
	// NotAble says that this candidate is not able to lead any more.
	NotAble
	// Forgotten says that a record has a smaller term than is known, so the lease is left
	// alone.
	Forgotten
)
