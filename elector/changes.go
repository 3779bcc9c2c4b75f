// What an operator changes at a member while it runs. A restart forgets it: the configuration counts
// again.

package elector

import (
	"errors"

	"github.com/hustings/hustings/elector/protocol"
)

// Electable says whether this member is to lead whenever it is elected, which is so from the start. With
// false it hands over if it leads, does not stand, and takes nothing over, but votes and follows as
// before. It is the last choice and not forbidden: if no other voter can lead, it does. A restart
// forgets it. It returns ErrStopped if the member does not run.
func (e *Elector) Electable(may bool) error {
	r := e.newRequest(protocol.AskElectable)
	r.Never = !may
	if v := e.view.Load(); !v.begun() || v.Stopped || !e.Host().request(r) {
		return e.whyNotRunning()
	}
	return nil
}

// SetTiming changes the intervals of the group at this member, at once. The members of a group can be
// changed one after the other, in any order: meanwhile followers wait for a leader for the longer of
// its detection time and their own, and a lease lasts as long as the voters have promised. With
// leases, a shorter detection time takes effect when the term ends, because a voter stands by
// its leader for as long as it has promised in this term. Without pre-vote (GroupConfig.NoPreVote)
// make intervals shorter at the leader first: a member that restarts with shorter ones than the
// leader's would depose it.
//
// SetTiming refuses intervals that GroupConfig.Timing could not have, and those that are too short for
// the round trips that were measured. Its error then names each wrong field, as New's does. It returns
// ErrStopped if the member does not run.
func (e *Elector) SetTiming(t Timing) error {
	r := e.newRequest(protocol.AskTiming)
	r.Timing = &t
	return e.settle(r)
}

// SetPreferred changes the voters that should lead whenever they can; without ids there are none. It
// takes effect where the leader is, so change it at every member. The error names ids that are
// no voters. It returns ErrStopped if the member does not run.
func (e *Elector) SetPreferred(ids ...string) error {
	r := e.newRequest(protocol.AskPreferred)
	r.Preferred = ids
	return e.settle(r)
}

// SetWeight changes how much work it is to lead the group, see GroupConfig.Weight. It counts where the leader is, now or later, so change
// it at every member. Nothing moves at once. It returns ErrStopped if the member does not run.
func (e *Elector) SetWeight(weight int) error {
	var bad protocol.Complaints
	if protocol.CheckWeight(&bad, weight); len(bad) > 0 {
		return errors.Join(bad...)
	}
	r := e.newRequest(protocol.AskWeight)
	r.Number = uint32(weight)
	return e.settle(r)
}

// settle makes a request and returns its outcome.
func (e *Elector) settle(r protocol.Request) error {
	settled := make(chan error, 1)
	r.Settled = func(err error) { settled <- err }
	if !e.view.Load().begun() || !e.Host().request(r) {
		return e.whyNotRunning()
	}
	return <-settled
}

// Preferred lists the ids of the voters that should lead whenever they can.
func (e *Elector) Preferred() (ids []string) {
	for seat := range e.rules().Preferred.Seats() {
		ids = append(ids, e.group.Members.ID(seat))
	}
	return ids
}

// Timing returns the group's intervals at this member.
func (e *Elector) Timing() Timing { return e.rules().Timing }

// rules are those that the member obeys now. The group's own field belongs to the loop.
func (e *Elector) rules() *protocol.Rules {
	if x := e.extras.Load(); x != nil {
		if r := x.rules.Load(); r != nil {
			return r
		}
	}
	return &e.group.Electorate.Rules
}

// Obey keeps the rules that the member obeys from now on for those who ask.
func (e *engine) Obey(r *protocol.Rules) { (*Elector)(e).ensureExtras().rules.Store(r) }
