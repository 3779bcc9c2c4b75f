// The catalogue of faults.

package leases

import (
	"fmt"

	"github.com/hustings/hustings/simulation/internal/faultlist"
)

// Fault is something that can go wrong.
type Fault uint8

// The faults.
const (
	// LostQuestion: a statement does not reach the database.
	LostQuestion Fault = iota
	// LostAnswer: a statement is carried out, and its answer is lost.
	LostAnswer
	// Late: a statement is carried out long after its sender has given it up.
	Late
	// Twice: a statement is carried out again, perhaps much later.
	Twice
	// SlowLink: a candidate is far from the database for a while.
	SlowLink
	// CutOne, CutSome, CutAll: candidates cannot reach the database for a while, or
	// its answers do not reach them.
	CutOne
	CutSome
	CutAll

	// StatementFails: the database refuses a statement with an error.
	StatementFails
	// SlowCommit: a statement locks the record for microseconds to more than a TTL, from when
	// it reads the database's clock to its commit.
	SlowCommit
	// Stall: for a while the database does nothing, and then everything.
	Stall
	// StaleRead: a read is answered from a copy that is behind.
	StaleRead
	// Locked: somebody else keeps a record locked for a while.
	Locked
	// DatabaseSteps: the database's clock jumps. Only in strict mode.
	DatabaseSteps

	// Crash: a process dies, and comes back as another candidate.
	Crash
	// Leave: a process ends in good order, and comes back; or leaves one of its leases.
	Leave
	// Pause: a process stands still while its clock runs.
	Pause
	// Hang: a driver does not return when its time is up.
	Hang
	// SlowLead: Lead takes long to return.
	SlowLead
	// LeadFails: Lead returns by itself.
	LeadFails

	// ServiceHangs: a service does not vouch for itself, or also does not return from Lead, or those of
	// all candidates.
	ServiceHangs
	// ServiceUnwell: a service says that it is not able to lead.
	ServiceUnwell

	// ClockRates: clocks have different rates, within the margin.
	ClockRates

	// Force: an operator ends the term, and may name an heir, which may not exist.
	Force
	// Resign: a leader is told to resign.
	Resign
	// NotToLead: a candidate is ordered not to lead while others can, for a while.
	NotToLead
	// OddTiming: one candidate has other intervals than the rest.
	OddTiming
	// Patient: candidates wait longer for an answer than a lease lasts.
	Patient
	// Onlooker: one candidate is an observer.
	Onlooker

	// Relapse: what has recovered has the same trouble again soon: the next statement of that kind of the
	// same candidate, a connection, or a process that stood still.
	Relapse

	// ClockBeyond: clocks differ by more than the margin.
	ClockBeyond
	// StepsUnwatched: the database's clock jumps, and candidates trust it.
	StepsUnwatched
	// EarlyLook: a statement reads the database's clock before it has locked the record, so
	// that it may commit after one that read the clock later.
	EarlyLook
	// Suspend: a machine sleeps, and its monotonic clock with it.
	Suspend

	faults
)

// Class is the origin of a fault.
type Class uint8

// The classes of faults.
const (
	NetworkFaults Class = iota
	DatabaseFaults
	ProcessFaults
	ClockFaults
	OperatorFaults
	// AssumptionFaults break what package lease assumes. They strike only on
	// demand; then a lease may be broken, which is counted and excused.
	AssumptionFaults

	classes
)

var classNames = [classes]string{"network", "database", "process", "clock", "operator", "assumptions"}

// String names the class.
func (c Class) String() string { return classNames[c] }

// about describes a fault. A fault that strikes at a time has a function that inflicts it and says
// whether it made a difference; the others are present all the time.
type about struct {
	name    string
	class   Class
	inflict func(*world) bool
}

var known = [faults]about{
	LostQuestion: {"lost-question", NetworkFaults, nil},
	LostAnswer:   {"lost-answer", NetworkFaults, nil},
	Late:         {"late", NetworkFaults, nil},
	Twice:        {"twice", NetworkFaults, nil},
	SlowLink:     {"slow-link", NetworkFaults, (*world).slowLink},
	CutOne:       {"cut-one", NetworkFaults, (*world).cutOne},
	CutSome:      {"cut-some", NetworkFaults, (*world).cutSome},
	CutAll:       {"cut-all", NetworkFaults, (*world).cutAll},

	StatementFails: {"fails", DatabaseFaults, nil},
	SlowCommit:     {"slow-commit", DatabaseFaults, nil},
	Stall:          {"stall", DatabaseFaults, (*world).stall},
	StaleRead:      {"stale-read", DatabaseFaults, nil},
	Locked:         {"locked", DatabaseFaults, (*world).lock},
	DatabaseSteps:  {"database-steps", DatabaseFaults, (*world).stepWatched},

	Crash:     {"crash", ProcessFaults, (*world).crash},
	Leave:     {"leave", ProcessFaults, (*world).leave},
	Pause:     {"pause", ProcessFaults, (*world).pause},
	Hang:      {"hang", ProcessFaults, nil},
	SlowLead:  {"slow-lead", ProcessFaults, nil},
	LeadFails: {"lead-fails", ProcessFaults, (*world).leadFails},

	ServiceHangs:  {"service-hangs", ProcessFaults, (*world).serviceHangs},
	ServiceUnwell: {"service-unwell", ProcessFaults, (*world).serviceUnwell},

	ClockRates: {"clock-rates", ClockFaults, nil},

	Force:     {"force", OperatorFaults, (*world).force},
	Resign:    {"resign", OperatorFaults, (*world).resign},
	NotToLead: {"not-to-lead", OperatorFaults, (*world).notToLead},
	OddTiming: {"odd-timing", OperatorFaults, nil},
	Patient:   {"patient", OperatorFaults, nil},
	Onlooker:  {"onlooker", OperatorFaults, nil},

	Relapse: {"relapse", ProcessFaults, nil},

	ClockBeyond:    {"clock-beyond", AssumptionFaults, nil},
	StepsUnwatched: {"steps-unwatched", AssumptionFaults, (*world).stepUnwatched},
	EarlyLook:      {"early-look", AssumptionFaults, nil},
	Suspend:        {"suspend", AssumptionFaults, (*world).suspend},
}

// String names the fault.
func (f Fault) String() string {
	if f < faults {
		return known[f].name
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Class is the origin of the fault.
func (f Fault) Class() Class { return known[f].class }

// Faults lists all faults.
func Faults() []Fault { return below[Fault](faults) }

// below lists the numbers below count, which stand for kinds of something.
func below[K ~uint8](count K) []K {
	all := make([]K, count)
	for i := range all {
		all[i] = K(i)
	}
	return all
}

// FaultSet is a set of faults. As an option the empty set stands for those of
// DefaultFaults; NoFaults has none.
type FaultSet uint64

// NoFaults is the empty set.
const NoFaults FaultSet = 1 << 63

// Has says whether a fault is in the set.
func (s FaultSet) Has(f Fault) bool { return s>>f&1 == 1 }

// catalogue is that of the faults of this world.
func catalogue() *faultlist.Catalogue[Fault, Class] {
	return &faultlist.Catalogue[Fault, Class]{Faults: faults, Classes: classes, Usual: []Class{
		NetworkFaults, DatabaseFaults, ProcessFaults, ClockFaults, OperatorFaults,
	}}
}

// narrow is a set that was chosen, in one word: this world has fewer than 63 faults.
func narrow(s faultlist.Set) FaultSet { return NoFaults | FaultSet(s[0]) }

// FaultsOf is the set of all faults of some classes.
func FaultsOf(all ...Class) FaultSet { return narrow(catalogue().Of(all...)) }

// DefaultFaults are all except those that break an assumption.
func DefaultFaults() FaultSet { return FaultsOf(catalogue().Usual...) }

// ParseFaults reads a list of faults and classes, separated by commas. The word "all"
// stands for DefaultFaults and "none" for no fault; a word with a minus removes its
// faults from the list.
func ParseFaults(list string) (FaultSet, error) {
	set, err := catalogue().Parse(list)
	if err != nil {
		return 0, err
	}
	return narrow(set), nil
}

// String is a list that ParseFaults reads.
func (s FaultSet) String() string { return catalogue().Text(faultlist.Set{uint64(s &^ NoFaults)}) }
