// The keeper: one candidate with all its leases in one database. It polls all of them together
// and renews all of them together.

package protocol

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Rules identify the candidate and set the parameters of its decisions.
type Rules struct {
	// ID is the candidate's identity in the database, Self its readable name, by which it may
	// be an heir.
	ID, Self string
	// Strict lets it take over a lease only after it has itself seen the lease unchanged for
	// a TTL.
	Strict bool
	// Wakes says that the keeper has a waker.
	Wakes  bool
	Timing Timing
	Limits Limits
}

// Limits bound a keeper's calls.
type Limits struct {
	// Batch is the largest number of leases in one call, which bounds the size of a statement.
	Batch int
	// Calls is the largest number of calls of a kind under way, including those that were
	// given up and have not been answered.
	Calls [kinds]int
}

// DefaultLimits returns the limits of package lease. More than one Read is under way only if
// the database does not answer.
func DefaultLimits() Limits {
	return Limits{Batch: 10_000, Calls: [kinds]int{Read: 4, Acquire: 8, Renew: 4, Release: 8, Wake: 8, Listen: 1}}
}

// Never is a time that never comes.
const Never time.Duration = math.MaxInt64

// Keeper is the state of a candidate with all its leases.
type Keeper struct {
	rules    Rules
	sessions []*session // sorted by name, so that batches are deterministic
	look     look
	claims   claims
	renewal  renewal
	listenAt time.Duration // when to call Listen; Never: it is under way, or there is no waker
	calls    calls
	troubles [kinds]trouble
	judge    judge
	wake     time.Duration // when the next Tick is due

	// The step under way, or the last one.
	now time.Duration
	fx  Effects
}

// NewKeeper makes a keeper without leases.
func NewKeeper(r Rules) *Keeper {
	k := &Keeper{rules: r}
	k.rest()
	return k
}

// Step handles an input at a time, and calls the effects. It returns when the next Tick is due.
func (k *Keeper) Step(now time.Duration, in Input, fx Effects) (next time.Duration) {
	k.now, k.fx = now, fx
	in.happensTo(k)
	return k.wake
}

// tick does everything that is due. Endings come before beginnings.
func (k *Keeper) tick() {
	k.judgeAll()
	for _, s := range k.sessions {
		k.lookAt(s)
	}
	k.expire()
	k.releaseDue()
	k.listen()
	k.renewDue()
	k.lookDue()
	k.wake = k.earliest()
}

// earliest returns when the next thing is due.
func (k *Keeper) earliest() time.Duration {
	at := min(k.look.due(), k.renewal.at, k.listenAt, k.calls.due())
	for _, s := range k.sessions {
		at = min(at, s.due())
	}
	return at
}

// wakeBy moves the next Tick forward to a time, if it is later.
func (k *Keeper) wakeBy(at time.Duration) { k.wake = min(k.wake, at) }

// find returns the index of a session, or where it would be inserted.
func (k *Keeper) find(name string) (int, bool) {
	return slices.BinarySearchFunc(k.sessions, name, func(s *session, name string) int { return cmp.Compare(s.name, name) })
}

// with calls do with the session of a name, if there is one.
func (k *Keeper) with(name string, do func(*session)) {
	if i, ok := k.find(name); ok {
		do(k.sessions[i])
	}
}

// enter begins a session. The keeper begins to work with its first session.
func (k *Keeper) enter(in *Enter) {
	i, there := k.find(in.Name)
	if there {
		return
	}
	if len(k.sessions) == 0 {
		k.begin()
	}
	s := newSession(in, k.now)
	k.sessions = slices.Insert(k.sessions, i, s)
	k.publish(s)
	k.wakeUp(s)
}

// begin draws the times of the first poll and the first renewal, and listens.
func (k *Keeper) begin() {
	k.judge.begins(k.now, k.rules.Timing.Renew)
	k.beginLooking()
	k.beginRenewing()
	if k.rules.Wakes && k.calls.lanes[Listen].underWay == 0 {
		k.listenAt = k.now
		k.listen()
	}
}

// rest makes the keeper idle while it has no leases.
func (k *Keeper) rest() {
	k.look = look{at: Never, soon: Never}
	k.renewal = renewal{at: Never}
	k.listenAt, k.wake = Never, Never
	k.calls.forget()
}

// settle ends a session that no longer takes part, once none of its calls is under way.
func (k *Keeper) settle(s *session) {
	if s.phase != idle || s.pending > 0 {
		return
	}
	if i, ok := k.find(s.name); ok && k.sessions[i] == s {
		k.sessions = slices.Delete(k.sessions, i, i+1)
		k.fx.End(s.name)
	}
	if len(k.sessions) == 0 {
		k.rest()
	}
}

// listen calls Listen when that is due.
func (k *Keeper) listen() {
	if k.now >= k.listenAt {
		k.listenAt = Never
		k.place(&call{Call: Call{Kind: Listen}}, Never)
	}
}

func (k *Keeper) listened(err error) {
	if len(k.sessions) == 0 {
		return // the keeper rests
	}
	if err != nil {
		k.came(Note{Kind: Listen, Err: err})
	}
	k.listenAt = k.now + k.rules.Timing.Poll
	k.wakeBy(k.listenAt)
}
