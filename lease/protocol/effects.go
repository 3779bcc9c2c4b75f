// What a keeper asks for.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Effects carry out what a keeper asks for, in the order in which it does. None of them
// waits for anything, and none calls Step.
type Effects interface {
	// Call has the store, or the waker, do something. It is told with an Answer, once. Neither
	// side changes c any more.
	Call(c *Call)
	// Hold has the lease of a term held until a time: a new one, or for longer than so far.
	// If it was seen to have run out meanwhile it stays so, and that is told with Lapse.
	Hold(name string, term memberstate.Term, until time.Duration)
	// Withdraw ends the lease of a term, and the context of its Lead, at once.
	Withdraw(name string, term memberstate.Term)
	// Publish makes known what this candidate is now.
	Publish(name string, v View)
	// Lead has the service lead for a term. It is told with Returned, once.
	Lead(name string, term memberstate.Term)
	// Vacate says that the office of a term is over: its lease was released, or could not be
	// until it had run out. A keeper calls it once for every Lead.
	Vacate(name string, term memberstate.Term, err error)
	// Tell tells people.
	Tell(n Note)
	// End says that a lease that was to be left has been. Nothing follows, and the name is free.
	End(name string)
	// Draw draws a duration of at least this and at most that.
	Draw(least, most time.Duration) time.Duration
}

// View is what a candidate is, as others see it.
type View struct {
	Role   memberstate.Role
	Term   memberstate.Term
	Leader string // an identity; empty: nobody, as far as is known here
	// Stopped says that it takes no part any more. This is the last view.
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
	// Renew renews what is Held.
	Renew
	// Release gives back what is Held, which is one lease.
	Release
	// Wake wakes others for Names, which is one.
	Wake
	// Listen listens for those leases that others are woken for, and tells each with Woken. It
	// goes on until it fails, or until the last lease has ended.
	Listen
)

// kinds is how many there are.
const kinds = int(Listen) + 1

// Call is a call of the store, or of the waker.
type Call struct {
	Number  uint64
	Kind    Kind
	Names   []string
	Held    []Held
	Claim   Claim
	Timeout time.Duration // how long an answer is waited for; 0: for ever
}

// Note is something that people are told.
type Note struct {
	Topic Topic
	Kind  Kind // Fails, Works: of the calls
	// Name and Term are of the lease that it is about, if it is about one.
	Name   string
	Term   memberstate.Term
	Known  memberstate.Term // Forgotten: the largest term that was known
	Leases int              // Fails: how many the call was about
	Count  int              // Fails: how many calls have failed since this was told last
	Err    error            // Fails, ReturnedEarly
}

// Topic is what a note is about.
type Topic uint8

// The topics.
const (
	// Fails: calls of a kind fail.
	Fails Topic = iota
	// Works: they work again.
	Works
	// RanOut: a lease ran out before it could be renewed.
	RanOut
	// TakenAway: the record says that the lease is this candidate's no more.
	TakenAway
	// ReturnedEarly: Lead returned though its context had not ended.
	ReturnedEarly
	// Forgotten: what was read is older than what is known, so the lease is left alone.
	Forgotten
)
