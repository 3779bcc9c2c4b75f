// The world: true time, the nodes in it, and what happens next.

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/agenda"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/search"
	"github.com/hustings/hustings/simulation/invariant"
)

// world is one run, in one goroutine.
type world struct {
	options Options
	voters  memberstate.Set
	choices choice.Choices
	now     int64 // true time, in nanoseconds
	events  agenda.Events[event]
	nodes   []node // voters first; with room for the observer and the twin that may come later
	alarms  agenda.Alarms
	network network
	swarm   swarm
	check   check.Checker
	told    FaultSet      // the faults that break an assumption and were detected
	calm    bool          // no fault strikes any more
	tick    time.Duration // how often engines write
	// longestWrite is the longest time that an append takes at a follower.
	longestWrite time.Duration

	seats          int      // of voters, and of the observers from the start
	observer, twin *node    // nodes that came later; nil: none did
	core           []int    // the majority that is healed in the end
	planned        []Strike // by a scenario
	scripted       bool     // this is the run of a scenario
	missed         []string // its lines that had no effect
	account        account  // of the messages that its expectations are about
	following      []Strike // later parts of strikes

	groups  []string // names
	weighed int      // how often they have been given other weights

	steps    uint64 // of machines
	digest   uint64
	election uint64

	conditions [conditions]uint64

	// What observes the run; nil in most runs.
	tape     *tape
	tracer   *tracer
	coverage *search.Coverage
}

// maxNodes bounds the processes in a world: the voters and observers, and a twin.
const (
	maxMembers   = check.MaxVoters
	maxObservers = 2 // from the start; one more may come
	maxSeats     = 10
	maxNodes     = check.MaxNodes // a node at each seat, and a twin
)

func newWorld(o Options) *world {
	w := &world{options: o, groups: namesOfGroups(o.Groups), longestWrite: quickWrite, voters: memberstate.Set(1<<o.Members - 1)}
	w.seats = min(o.Members+o.Observers, maxSeats)
	w.nodes = make([]node, 0, w.seats+2)
	w.network.world = w
	w.check = check.New(o.measure(), groupNames[:o.Groups], &w.now, o.Unchecked, w.violated)
	w.check.Ambiguous = o.Counters > 0
	for i := range w.seats {
		w.addNode(memberstate.Seat(i + 1))
	}
	return w
}

// violated enters the violation in the trace.
func (w *world) violated(v *invariant.Violation) { w.tracer.violated(v) }

// tells notes that a fault was detected, and refused.
func (w *world) tells(f Fault) { w.told = w.told.With(f) }

// addNode makes a node that has not started.
func (w *world) addNode(seat memberstate.Seat) *node {
	w.nodes = append(w.nodes, node{})
	w.alarms.Add()
	n := &w.nodes[len(w.nodes)-1]
	n.init(w, len(w.nodes)-1, seat)
	return n
}

// drawn prepares a run in which the seed decides everything.
func (w *world) drawn() {
	w.drawEnvironment(w.options.Seed)
	for i, b := range w.options.Branches {
		w.events.Push(int64(b.At), newEvent(branches, 0, uint32(i)))
	}
	w.swarm.stand(w)
	w.begin()
	w.swarm.schedule(w)
}

// drawEnvironment draws which faults may strike, how the network behaves, and how often and how fast
// engines write.
func (w *world) drawEnvironment(seed uint64) {
	w.choices.Reseed(seed)
	w.swarm.random = rand.New(rand.NewPCG(seed, 0x6875737469))
	w.swarm.enable(&w.options)
	w.network.draw(w.swarm.random, w.swarm.enabled)
	w.tick = w.stretched(busiestTick) << w.swarm.random.IntN(doublings)
	w.longestWrite = w.stretched(quickWrite) << w.swarm.random.IntN(writeDoubling)
}

// A world is fast enough for its groups. Where the interval of heartbeats is shorter than
// slowestBeat, networks and disks are faster, because no leader could lead otherwise. How often
// engines write depends on the interval of heartbeats.
const slowestBeat = 20 * time.Millisecond

// hurried is how long a message or a save takes in this world that takes d where there is enough
// time.
func (w *world) hurried(d time.Duration) time.Duration {
	if beat := w.options.Timing.Heartbeat; beat < slowestBeat {
		return d * beat / slowestBeat
	}
	return d
}

// stretched is an interval of an engine in this world that is d where heartbeats have the default
// interval.
func (w *world) stretched(d time.Duration) time.Duration {
	return time.Duration(float64(d) * w.options.Timing.Heartbeat.Seconds() / elector.DefaultTiming().Heartbeat.Seconds())
}

// begin starts the nodes.
func (w *world) begin() {
	for i := range w.nodes {
		w.nodes[i].start()
	}
}

// branch continues with the choices of another seed.
func (w *world) branch(b Branch) {
	w.choices.Reseed(b.Seed)
	w.swarm.random = rand.New(rand.NewPCG(b.Seed, 0x6875737469))
}

// run plays until a time, or until an invariant is violated.
func (w *world) run(until time.Duration) {
	end := int64(until)
	for !w.check.Over {
		node, at := w.alarms.First()
		if e, ok := w.events.Next(min(at, end)); ok {
			w.now = e.At
			w.happen(e.What)
			continue
		}
		if at > end {
			w.now = max(w.now, end)
			return
		}
		w.now = at
		w.nodes[node].ring()
	}
}

func (w *world) happen(e event) {
	n, arg := &w.nodes[e.node()], e.arg()
	switch e.kind() {
	case parcelArrives:
		w.network.arrive(arg)
	case saveEnds:
		n.saveEnded(arg)
	case leaseEnds:
		n.members[e.group()].leaseEnded(arg)
	case engineTicks:
		n.members[e.group()].tick(arg)
	case entriesWritten:
		n.members[e.group()].wrote(arg)
	case leadReturns:
		n.members[e.group()].returned(arg)
	case ledgerRead:
		n.members[e.group()].readLedger(arg)
	case ledgerAnswered:
		n.members[e.group()].answerLedger(arg)
	case ledgerOverdue:
		n.members[e.group()].ledgerIsOverdue(arg)
	case writesPause:
		n.members[e.group()].slowPauseEnds(arg)
	case groupRejoins:
		n.members[e.group()].unlessGone(arg, n.members[e.group()].rejoin)
	case engineRecovers:
		n.members[e.group()].engine.Slow = 0
	case healthAnswered:
		n.members[e.group()].answerHealth(arg)
	case enginesJudged:
		n.judged(arg)
	case judgeReturns:
		n.judgeReturns()
	case engineReturns, flapsEnd, electableAgain:
		if !w.calm { // all strikes have ended before, and what keeps members from leading now is the check's own
			n.members[e.group()].worksAgain(e.kind())
		}
	case faultStrikes:
		w.swarm.strike(w)
	case faultStrikesAgain:
		w.swarm.strikeAgain(w)
	case strikePlanned:
		w.inflict(&w.planned[arg])
	case strikeFollows:
		if s := &w.following[arg]; !w.calm {
			faultTable[s.Fault].inflict(w, s)
		}
	case nodeServes, nodeMoves, nodeStays:
		if !w.calm { // what was ordered in trouble has ended before, and what is ordered now is the check's own
			n.orderEnds(e.kind(), arg)
		}
	case nodeRestarts:
		if !n.Alive && n.Incarnation == arg {
			n.start()
		}
	case pauseEnds:
		n.resume(arg)
	case diesInSave:
		n.diesInSave(arg)
	case sluggishEnds:
		n.quickens()
	case diskRecovers:
		n.slowDisk = false
	case diskReturns:
		n.diskReturns()
	case troubleEnds:
		w.network.end(arg)
	case branches:
		w.branch(w.options.Branches[arg])
	}
}

// about schedules an event that is about a group.
func (w *world) about(wait int64, kind eventKind, m *member, arg uint32) {
	w.events.Push(w.now+wait, newEvent(kind, uint8(m.Index), arg)|event(m.Place)<<groupShift)
}

// place is the index of a group.
func (w *world) place(name string) int {
	if name == firstGroup {
		return 0
	}
	return indexIn(name, len(w.groups))
}

// indexIn is the number in a name such as n7; of, if the number is not smaller than that.
func indexIn(name string, of int) (index int) {
	for i := 1; i < len(name) && index < of; i++ {
		index = 10*index + int(name[i]-'0')
	}
	return min(index, of)
}

// seatOf is the seat of a node; Nobody if there is no such node.
func (w *world) seatOf(name string) memberstate.Seat {
	index := indexIn(name, maxNodes)
	if index >= maxNodes || names[index] != name {
		return memberstate.Nobody
	}
	return memberstate.Seat(index + 1)
}

// list lists a group: the voters, the observers from the start, and the member with this seat.
func (w *world) list(with memberstate.Seat) memberstate.Members {
	var observers []memberstate.Member
	for _, id := range names[w.options.Members:max(w.seats, int(with))] {
		observers = append(observers, memberstate.Member{ID: id, Observer: true})
	}
	return w.first(w.options.Members, observers...)
}

// first lists the first voters, and others.
func (w *world) first(voters int, others ...memberstate.Member) memberstate.Members {
	members, err := memberstate.NewMembers(append(memberstate.Voters(names[:voters]...), others...))
	if err != nil {
		panic(err) // the names are constant
	}
	return members
}

// maxGroups bounds the groups that a node takes part in.
const maxGroups = 64

// groupNames are the names of groups in scenarios and reports.
var groupNames = func() (all [maxGroups]string) {
	for i := range all {
		all[i] = fmt.Sprintf("g%d", i)
	}
	return all
}()

// firstGroup is what the nodes call the first group: a name with the lot zero, so that its voters take turns as they
// are listed. The explorer's machines have no lot, and its scripts are replayed in worlds of one group.
const firstGroup = "range1876"

// namesOfGroups are the names that the nodes use.
func namesOfGroups(count int) []string {
	names := slices.Clone(groupNames[:count])
	names[0] = firstGroup
	return names
}

// after schedules an event.
func (w *world) after(wait time.Duration, kind eventKind, n *node, arg uint32) {
	w.events.Push(w.now+int64(wait), newEvent(kind, uint8(n.Index), arg))
}

// at is the process that message number of a run reaches if it is for a seat.
func (w *world) at(seat memberstate.Seat, number uint64) *node {
	switch {
	case w.twin != nil && w.twin.Seat == seat && number%2 == 1:
		return w.twin
	case w.observer != nil && w.observer.Seat == seat:
		return w.observer
	default:
		return &w.nodes[seat-1]
	}
}

// mix enters numbers into the digest. Two runs are the same if their digests are.
func (w *world) mix(a, b uint64) {
	h := (w.digest ^ a) * 0x9e3779b97f4a7c15
	w.digest = (h ^ h>>29 ^ b) * 0xbf58476d1ce4e5b9
}
