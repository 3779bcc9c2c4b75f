// The inputs of a keeper.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Input is one event. It is one of the types below.
type Input interface{ happensTo(k *Keeper) }

// Tick says that the time that Step returned has come. An early or superfluous Tick does no
// harm.
type Tick struct{}

// Enter makes this candidate take part in the election of a lease, as an observer if it must
// never take it. The name must not be that of another lease that has not ended.
type Enter struct {
	Name     string
	Observer bool
	// Vouch is how long the service's word counts that this candidate is able to lead. Zero: it
	// need not vouch.
	Vouch time.Duration
}

// Retire makes it stop taking part. A lease that it holds is released; then Effects.End is
// called.
type Retire struct{ Name string }

// Resign makes it give up a lease, if it holds it.
type Resign struct{ Name string }

// Lapse says that a reader has seen the lease of a term expired, at a later time than the last
// Step's. The lease has ended then, because the reader may have acted upon it.
type Lapse struct {
	Name string
	Term memberstate.Term
}

// Woken says that a lease may have been released. It is a hint.
type Woken struct{ Name string }

// Returned says that the Lead that Effects.Lead called has returned.
type Returned struct {
	Name string
	Err  error
}

// Health is the service's answer to Effects.AskHealth: nil, or why this candidate is not able to
// lead.
type Health struct {
	Name string
	Err  error
}

// Stalled is the answer to Effects.AskStalled: the leases whose services cannot work.
type Stalled struct{ Names []string }

// Electable says whether this candidate is to lead whenever it can, which is so from the start,
// or only if no other can.
type Electable struct {
	Name string
	May  bool
}

// Answer is the result of a call. Every call has one, at the latest when its driver gives up.
// It may come long after the keeper has given up waiting.
type Answer struct {
	Number  uint64   // of the call
	Err     error    // not nil: it is not known whether the call was, or will be, executed
	Records []Record // Read
	Won     bool     // Acquire
	Kept    []string // Renew; also beside a LockedError
}

func (Tick) happensTo(k *Keeper)     { k.tick() }
func (in Enter) happensTo(k *Keeper) { k.enter(&in) }

func (in Retire) happensTo(k *Keeper) { k.with(in.Name, k.retire) }
func (in Woken) happensTo(k *Keeper)  { k.with(in.Name, k.wakeUp) }

func (in Resign) happensTo(k *Keeper) {
	k.with(in.Name, func(s *session) { k.leave(s, resigned) })
}

func (in Lapse) happensTo(k *Keeper) {
	k.with(in.Name, func(s *session) {
		if in.Term == s.view.Term {
			k.leave(s, ranOut)
		}
	})
}

func (in Returned) happensTo(k *Keeper) {
	k.with(in.Name, func(s *session) { k.returned(s, in.Err) })
}

func (in Health) happensTo(k *Keeper) {
	k.with(in.Name, func(s *session) { k.answersHealth(s, in.Err) })
}

func (in Stalled) happensTo(k *Keeper) { k.judged(in.Names) }

func (in Electable) happensTo(k *Keeper) {
	k.with(in.Name, func(s *session) { k.order(s, in.May) })
}

func (in *Answer) happensTo(k *Keeper) { k.answered(in) }
