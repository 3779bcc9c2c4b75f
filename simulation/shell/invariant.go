// This file lists the invariants.

package shell

import "fmt"

// Invariant is a rule that must hold in every world. The package documentation explains all of
// them.
type Invariant uint8

// The invariants.
const (
	OneLeader Invariant = iota
	WonByQuorum
	TermsGrow
	VotesKept
	SaidDurable
	RecordsKept
	LossShown
	LeadOnce
	LeadInOffice
	LeadCalled
	LeadGivesUp
	PauseEnds
	OneLease
	LeaseCovered
	LeaseOver
	PromiseKept
	CommittedStays
	Rests
	NamedHeir
	OrdersTold
	MistakesTold
	CallsEnd
	StopWaits
	JudgedOnce
	Prompt
	Watched
	Drains
	NotToLeaving
	Progresses
	NodesKnown
	Ignored
	Found
	NothingLeft
	ReleasedAfter

	invariants
)

var invariantNames = [invariants]string{
	"one leader a term", "won by a quorum", "terms grow", "votes are kept", "said when durable", "records are kept", "loss shown before the disk", "one lead at a time", "lead in office",
	"lead is called", "lead gives up", "pause ends", "one lease", "lease is covered", "lease stays over", "promise is kept", "committed stays",
	"resigned rests", "named heir", "orders are told", "mistakes are told", "calls end", "stop waits", "judged once", "prompt", "watched", "drained leads nothing", "not to the leaving", "progress adds up", "nodes are known",
	"forged is ignored", "leader found", "nothing left", "released after lead",
}

// String names the invariant.
func (i Invariant) String() string {
	if i < invariants {
		return invariantNames[i]
	}
	return fmt.Sprintf("invariant(%d)", uint8(i))
}

// Invariants lists the invariants that are checked in worlds of a kind.
func (k Kind) Invariants() []Invariant {
	if k == Leases {
		return []Invariant{
			OneLeader, TermsGrow, LeadOnce, LeadInOffice, LeadCalled, LeadGivesUp, OneLease, LeaseCovered, LeaseOver, ReleasedAfter,
			Rests, OrdersTold, MistakesTold, CallsEnd, StopWaits, Watched, Found, NothingLeft,
		}
	}
	return all(ReleasedAfter)
}

func all[T ~uint8](end T) (list []T) {
	for t := range end {
		list = append(list, t)
	}
	return list
}
