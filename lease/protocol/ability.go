// Whether a candidate is able to lead, and what follows.
//
// Renewals need neither the service nor anything that it works on. So a holder whose service hangs would
// renew its lease for ever, and every client would wait. Therefore a service can vouch for itself: it says
// now and then that it has done useful work, or it answers when it is asked. A Lead that does not return
// after its context has ended is noticed without being asked.
//
// Candidates do not know of each other whether they are able, because the database has no place for that.
// So the able ones come first by waiting alone:
//
//   - A holder that is not able gives up its lease, once. It is released when Lead has returned, and
//     expires if Lead does not return.
//   - A candidate that is not able claims a lease only after it has stood free for so long that any able
//     candidate could have claimed it: see Timing.lastChoice. So a group in which nobody is able has a
//     leader all the same.
//   - A candidate that leads as the last choice keeps the lease for a stay, because nobody else wanted it
//     a moment ago. Then it gives it up once more, because an able candidate may have come meanwhile. A
//     stay is four TTLs at first, because every change leaves the group without a leader for some polls.
//     It doubles each time, up to 128 TTLs.
//
// A candidate that was not able counts as able again when nothing has obstructed it for a hold. A hold is
// a TTL at first, and doubles whenever the candidate fails again, up to 128 TTLs. After as long without a
// failure, holds begin anew. Stays begin anew when it has been able for as long, and under no order not to lead either.
//
// Changes for want of ability are bounded. After a candidate has given up its lease it leads again either
// as the last choice, for a stay; or able, after a hold. The next one of its kind is twice as long. So of the times
// from one such change to the next, fewer than 2k are shorter than 2^k TTLs, up to 2^7. Only the orders of
// operators are not bounded.
//
// The keeper needs no alarm for any of this, because it ticks at least four times in a Renew. All waits
// that end between two ticks end at the second one.

package protocol

import (
	"time"

	voting "github.com/hustings/hustings/elector/protocol"
)

// Inability is why a candidate cannot do the work of a leader, in the words of elections by votes.
type Inability = voting.Inability

// works says that a leader can do its work. One that has just recovered can, so it leads on.
func works(i Inability) bool { return i == voting.Able || i == voting.NotAbleHold }

// ability is a keeper's knowledge of a candidate's ability to lead.
type ability struct {
	vouch   time.Duration // how long the service's word counts; 0: it need not vouch
	looked  time.Duration // when the keeper last looked for a word
	heard   time.Duration // when the service last gave its word
	asked   time.Duration // when it was last asked for its health
	asking  bool          // it has not answered
	problem error         // its last answer; nil: it is able
	ordered bool          // this candidate was ordered not to lead
	ending  time.Duration // since when Lead has been running although its context has ended; 0: it has not

	failing bool          // something obstructed the candidate at the last look
	hold    time.Duration // how long it must be able before it counts as able
	ableAt  time.Duration // the end of the hold, if nothing obstructs it until then
	since   time.Duration // since when it has been able
	stay    time.Duration // how long it kept the lease as the last choice
}

// The shortest and the longest holds and stays, in TTLs.
const shortestHold, shortestStay, longest = 1, 4, 128

// able says whether the candidate may take a lease before others.
func (s *session) able() bool { return s.view.Inability == voting.Able }

// lookAtAbility notes a change of a candidate's ability. A holder that is not able gives up its lease,
// unless its stay has not ended.
func (k *Keeper) lookAtAbility(s *session) {
	k.hear(s)
	a, was := &s.ability, s.view.Inability
	now := a.judge(k.now, k.rules.Timing.TTL, k.obstructs(s))
	if now != was {
		switch {
		case now == voting.Able:
			a.since = k.now
		case was == voting.Able:
			if k.now-a.since > longest*k.rules.Timing.TTL {
				a.stay = 0 // also if it was only ordered not to lead
			}
			k.fx.Tell(Note{Topic: NotAble, Name: s.name, Term: s.view.Term, Why: now, Err: a.problem})
		}
		s.view.Inability = now
		k.publish(s)
	}
	switch {
	case now == voting.Able:
		s.office.keep = 0
	case !works(now) && k.now >= s.office.keep:
		k.leave(s, notAble)
	}
}

// hear takes the service's word, and asks for its health once a Renew. If the keeper has not looked for
// long, the process may have stood still, and the service with it. Then the service has some time left,
// unless it was overdue before: it would count as failing once more.
func (k *Keeper) hear(s *session) {
	a, ttl := &s.ability, k.rules.Timing.TTL
	looked := a.looked
	a.looked = k.now
	if a.ending != 0 && k.now-looked > ttl/2 && looked-a.ending <= ttl {
		a.ending = max(a.ending, k.now-ttl/2)
	}
	if a.vouch == 0 {
		return
	}
	if lasts := a.vouch / 2; k.now-looked > lasts && looked-a.heard <= a.vouch {
		a.heard = k.now - lasts // its last word was heard before the last look
	}
	if k.fx.Vouched(s.name) {
		a.heard = k.now
	}
	if !a.asking && k.now-a.asked >= k.rules.Timing.Renew {
		a.asked = k.now
		if a.asking = k.fx.AskHealth(s.name); a.asking {
			s.pending++
		}
	}
}

// answersHealth notes the service's answer: nil, or why it is not able to lead.
func (k *Keeper) answersHealth(s *session, err error) {
	a := &s.ability
	s.pending--
	a.asking, a.problem = false, err
	a.heard = max(a.heard, a.asked) // even if it is not able, it does not hang
	k.lookAt(s)
	k.settle(s)
}

// order notes an operator's order whether to lead.
func (k *Keeper) order(s *session, may bool) {
	s.ability.ordered = !may
	k.lookAt(s)
}

// obstructs is what keeps a candidate from leading at this moment, except an order.
func (k *Keeper) obstructs(s *session) Inability {
	switch a := &s.ability; {
	case a.ending != 0 && k.now-a.ending > k.rules.Timing.TTL:
		return voting.NotAbleLead
	case a.vouch > 0 && k.now-a.heard > a.vouch, k.judge.overdue(k.now, k.rules.Timing.TTL):
		return voting.NotAbleSilent
	case a.problem != nil, k.judge.names(s.name):
		return voting.NotAbleUnhealthy
	}
	return voting.Able
}

// judge is why a candidate is not able, when something obstructs it or nothing does. An order needs no
// hold, because an operator does not come and go.
func (a *ability) judge(now, ttl time.Duration, obstacle Inability) Inability {
	if obstacle != voting.Able {
		if !a.failing {
			if now-a.ableAt > longest*ttl {
				a.hold = 0
			}
			a.failing, a.hold = true, doubled(a.hold, shortestHold*ttl, longest*ttl)
		}
		a.ableAt = now + a.hold
		return obstacle
	}
	a.failing = false
	switch {
	case a.ordered:
		return voting.NotAbleOrdered
	case now < a.ableAt:
		return voting.NotAbleHold
	}
	return voting.Able
}

// doubled returns twice a time, within bounds.
func doubled(d, least, most time.Duration) time.Duration { return min(max(2*d, least), most) }

// hasTurn says whether a candidate may claim a lease that it has seen free: one that is able at once, and
// another when all others have had their turn.
func (k *Keeper) hasTurn(s *session) bool {
	return s.able() || k.now-s.seen.free >= k.rules.Timing.lastChoice()
}

// stays has a candidate that was the last choice keep the lease for a while.
func (k *Keeper) stays(s *session) {
	a, ttl := &s.ability, k.rules.Timing.TTL
	a.stay = doubled(a.stay, shortestStay*ttl, longest*ttl)
	s.office.keep = k.now + a.stay
}
