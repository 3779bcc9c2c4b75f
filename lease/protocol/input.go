// What a keeper is told.

package protocol

import "github.com/hustings/hustings/memberstate"

// Input is one thing that has happened. It is one of the types below.
type Input interface{ happensTo(k *Keeper) }

// Tick says that it is the time that Step returned, or later. One that comes early, or once
// too often, does no harm.
type Tick struct{}

// Enter has this candidate take part in the election of a lease, as an observer if it is
// never to take it. The name is not that of another lease that has not ended.
type Enter struct {
	Name     string
	Observer bool
}

// Retire has it take no part any more. What it holds is given back; then Effects.End is
// called.
type Retire struct{ Name string }

// Resign has it give a lease up, if it holds it.
type Resign struct{ Name string }

// Lapse says that the lease of a term was seen to have run out, by a clock that was looked
// at later than the one that Step was told last. It has ended then, because somebody may
// have acted upon it.
type Lapse struct {
	Name string
	Term memberstate.Term
}

// Woken says that a lease may have been set free. It is a hint.
type Woken struct{ Name string }

// Returned says that the Lead that Effects asked for has returned.
type Returned struct {
	Name string
	Err  error
}

// Answer is what a call has come to. Every call has one, if only when its driver gives it
// up; it may come long after the keeper has given up waiting.
type Answer struct {
	Number  uint64   // of the call
	Err     error    // not nil: it is not known whether the call was, or will be, carried out
	Records []Record // Read
	Won     bool     // Acquire
	Kept    []string // Renew; also beside a LockedError
}

func (Tick) happensTo(k *Keeper)     { k.tick() }
func (in Enter) happensTo(k *Keeper) { k.enter(in.Name, in.Observer) }

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

func (in *Answer) happensTo(k *Keeper) { k.answered(in) }
