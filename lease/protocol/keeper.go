// The keeper: one candidate with all its leases in one database. It looks at all of them
// together and renews all of them together.

package protocol

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Rules say whose keeper it is, and by which rules it decides.
type Rules struct {
	// ID is the candidate's identity in the database, Self its readable name, by which it may
	// be an heir.
	ID, Self string
	// Strict has it take a lease over only when it has itself seen it stand still for a TTL.
	Strict bool
	// Wakes says that others can be woken when a lease was released, and listened for.
	Wakes  bool
	Timing Timing
	Limits Limits
}

// Limits bound what a keeper asks for at a time.
type Limits struct {
	// Batch is how many leases one call may be about, and so how large a statement may be.
	Batch int
	// Calls is how many calls of a kind may be under way, those included that were given up
	// and have not been answered.
	Calls [kinds]int
}

// DefaultLimits are those of the keeper that ships. More than one Read is under way only if
// the database does not answer.
func DefaultLimits() Limits {
	return Limits{Batch: 10_000, Calls: [kinds]int{Read: 4, Acquire: 8, Renew: 4, Release: 8, Wake: 8, Listen: 1}}
}

// Never is a time that does not come.
const Never time.Duration = math.MaxInt64

// Keeper is what a candidate knows of its leases, and decides from it.
type Keeper struct {
	rules    Rules
	sessions []*session // by name, so that batches are the same each time
	look     look
	claims   claims
	renewal  renewal
	listenAt time.Duration // Never: it is being listened, or there is nobody to listen to
	calls    calls
	troubles [kinds]trouble
	wake     time.Duration // nothing is due before

	// The step under way.
	now time.Duration
	fx  Effects
}

// NewKeeper is one without leases.
func NewKeeper(r Rules) *Keeper {
	k := &Keeper{rules: r}
	k.rest()
	return k
}

// Step tells the keeper what has happened by now, and has it ask for what is to be done. It
// returns when the keeper wants to be told of a Tick.
func (k *Keeper) Step(now time.Duration, in Input, fx Effects) (next time.Duration) {
	k.now, k.fx = now, fx
	in.happensTo(k)
	k.fx = nil
	return k.wake
}

// tick does all that is due. What ends comes before what begins.
func (k *Keeper) tick() {
	for _, s := range k.sessions {
		if s.phase == serving && k.now >= s.office.until {
			k.leave(s, ranOut)
		}
	}
	k.expire()
	k.releaseDue()
	k.listen()
	k.renewDue()
	k.lookDue()
	k.wake = k.earliest()
}

// earliest is when something is due.
func (k *Keeper) earliest() time.Duration {
	at := min(k.look.due(), k.renewal.at, k.listenAt, k.calls.due())
	for _, s := range k.sessions {
		at = min(at, s.due())
	}
	return at
}

// wakeBy has the next Tick come no later than something is due.
func (k *Keeper) wakeBy(at time.Duration) { k.wake = min(k.wake, at) }

// find is where a session is, or would be.
func (k *Keeper) find(name string) (int, bool) {
	return slices.BinarySearchFunc(k.sessions, name, func(s *session, name string) int { return cmp.Compare(s.name, name) })
}

// with does something with a session, if there is one of that name.
func (k *Keeper) with(name string, do func(*session)) {
	if i, ok := k.find(name); ok {
		do(k.sessions[i])
	}
}

// enter begins a session. The first one has the keeper begin to work.
func (k *Keeper) enter(name string, observer bool) {
	i, there := k.find(name)
	if there {
		return
	}
	if len(k.sessions) == 0 {
		k.begin()
	}
	s := newSession(name, observer)
	k.sessions = slices.Insert(k.sessions, i, s)
	k.publish(s)
	k.wakeUp(s)
}

// begin draws when it looks and renews for the first time, and listens.
func (k *Keeper) begin() {
	k.beginLooking()
	k.beginRenewing()
	if k.rules.Wakes && k.calls.lanes[Listen].underWay == 0 {
		k.listenAt = k.now
		k.listen()
	}
}

// rest has it do nothing while it has no leases.
func (k *Keeper) rest() {
	k.look = look{at: Never, soon: Never}
	k.renewal = renewal{at: Never}
	k.listenAt, k.wake = Never, Never
	k.calls.forget()
}

// settle ends a session that takes no part any more, when nothing of it is under way.
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

// listen listens when it is time to. It begins again a while after that has ended.
func (k *Keeper) listen() {
	if k.now >= k.listenAt {
		k.listenAt = Never
		k.place(&call{Call: Call{Kind: Listen}}, Never)
	}
}

func (k *Keeper) listened(err error) {
	if len(k.sessions) == 0 {
		return // it was to end
	}
	if err != nil {
		k.came(Note{Kind: Listen, Err: err})
	}
	k.listenAt = k.now + k.rules.Timing.Poll
	k.wakeBy(k.listenAt)
}
