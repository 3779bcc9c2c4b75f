// Package explore plays every interleaving of shipped sessions within bounds. A session is a machine and
// what its driver remembers. Every message that was ever sent may arrive at any time, any number of
// times, or never. Every alarm may ring at any time. Every process may crash at any time, also between a save
// and what was to be sent after it; that is the same as a crash after it was sent, if nothing of it ever
// arrives. A save that fails is a crash as well, because a member whose save fails says nothing
// and stops: one before the step if the disk has kept nothing, and one between save and send if it
// has.
//
// The network is monotone: nothing is ever taken out of it. So loss, duplication, reordering, delay and
// staleness need no budgets, and these reductions are sound, none of which assumes that the code does what it
// should. The head of each file has the argument, with an example and the fix that looks right and is wrong.
//
//	reduction            file                why it is sound                                   the test that fails if it leaves something out
//	silent steps wait    closure.go          a step that nobody notices can as well come       TestAClosureLeavesNothingOut
//	                     closure_search.go   just before the next one that somebody does
//	subsumption          subsumption.go      what is left out can be had silently from         TestWhatIsLeftOutIsComeToLater
//	                                         what is kept
//	saturation           saturation.go       nobody has to hear what is said, so to have said  TestTheExplorerHasBeenWhereASearchWithoutReductionsGets
//	                                         it allows everything that follows without it
//	steps do not wait    step_waits.go       what is told while a step waits is also told      TestWhatIsToldWhileAStepWaitsIsLookedAt
//	                                         before and after it, and compared
//	prompt returns       lead_return.go      every input is also given to the node whose       TestWhatIsDoneWhileAnOldLeadRunsIsLookedAt
//	                                         Lead still runs, and compared
//	antichain            states.go           of two states with the same nodes and leaders,    TestWhoHasLedIsNotCovered
//	                                         that in which more was said can do more
//	symmetry             symmetry.go         renaming the members changes nothing, and a       TestWhatANodeCanDoIsTheSameWhoeverIsWho
//	                                         node chooses as it would in any seat              TestOnlyTheChoiceOfASuccessorIsAsymmetric
//	retry variants       retry_variants.go   both variants are given every input               TestTheExplorerHasBeenWhereRandomRunsGet
//	stale messages       stale.go            whatever could have been sent may arrive          TestNoStaleMessageIsMissed
//	                     stale_messages.go                                                     TestWhateverIsSaidMayComeTooLate
//
// Symmetry, retry variants and stale messages let more happen than can. A violation might be one that cannot
// be, so each is played again without reductions (counterexample_confirm.go); that there is none says the more.
// Two tests look at all of this at once: a search without any reduction, and random runs, must get nowhere
// that the explorer has not been.
//
// Other files save time, and change nothing in what is found. docs/verification.md has what each of them buys:
//
//	result_cache.go   what a node can do is found again for all messages that make no difference
//	duplicates.go     a state that was found a moment ago is not canonized again
//	frontier.go       states that cover most are looked at first
//	unprompted.go     inputs that come to the same are listed once
//	registry.go       workers share what they have worked out
//	checkpoint.go     a search of days can be stopped, and goes on
//
// The rest: node.go, message.go and input.go say what a state is made of; step.go, step_result.go, driver.go and
// ticks.go what an input does to a node; successors.go, search.go and worker.go go from states to states; script*.go
// and counterexample*.go tell what was found.
//
// [Live] is another search, without reductions, in a network that forgets: it asks whether a leader can
// always come about. Time is modelled only where there are leases. What is pruned are states beyond the
// [Bounds], and nothing else: if [Result.Complete] all states within them were reached.
package explore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/metrics"
	"sync"
	"time"
)

// Bounds say how far is explored.
type Bounds struct {
	// Members is how many voters there are, up to 5.
	Members int
	// Terms is the largest term that is led or asked for, up to 7.
	Terms int
	// Beats is how many rounds of heartbeats an office has, and Leak how many of them in a row
	// end it if no quorum answers; 0: one does.
	Beats, Leak int
	// Entries is how long a ledger gets; 0: ledgers stay empty.
	Entries int
	// NoPreVote is as in elector.GroupConfig.
	NoPreVote bool
	// Leases has leaders hold leases: time passes in ticks, a promise lasts three, a lease
	// two. Lag is how many ticks a clock may miss in all. No more than a promise is longer
	// than a lease, which is one, or there are two leases at once.
	Leases bool
	Lag    int
	// NoCrash has no process crash, NoTransfer none be told to hand over, to resign or to
	// stand, NoHints none be told that a connection is lost.
	NoCrash, NoTransfer, NoHints bool
	// Withdrawals has engines return from Lead before they are told to, and orders to hand over or to
	// resign withdrawn.
	Withdrawals bool
	// Pauses has engines take their time to pause their writes for a handover, or fail to.
	// Else they have done so at once.
	Pauses bool
}

const (
	mostMembers = 5
	mostTerms   = 7
	mostBeats   = 6 // a machine remembers the newest four
	mostLeak    = 6
	mostEntries = 7
	mostLag     = 3
)

// Check says what is wrong with the bounds.
func (b *Bounds) Check() error {
	var timeless, orderless error
	if b.Lag > 0 && !b.Leases {
		timeless = errors.New("explore: Lag is set, and Leases is not")
	}
	if (b.Withdrawals || b.Pauses) && b.NoTransfer {
		orderless = errors.New("explore: Withdrawals or Pauses is set, and so is NoTransfer")
	}
	return errors.Join(
		within("Members", b.Members, 1, mostMembers), within("Terms", b.Terms, 1, mostTerms), within("Beats", b.Beats, 1, mostBeats), within("Leak", b.Leak, 0, mostLeak),
		within("Entries", b.Entries, 0, mostEntries), within("Lag", b.Lag, 0, mostLag), timeless, orderless,
	)
}

// within says whether a number is too small, or too large.
func within(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("explore: %s is %d, want %d to %d", name, n, least, most)
	}
	return nil
}

// Options are how a search is made.
type Options struct {
	Bounds
	// MaxStates and MaxMemory, in bytes, end the search; 0: they do not.
	MaxStates, MaxMemory uint64
	// Workers is how many search at once; 0: one. With more the number of states differs a
	// little from search to search, because some are found before those that cover them.
	Workers int
	// Checkpoint names a file that the search is written to now and then, and when it is
	// stopped, and that it goes on from if it is there. When the search is done it is
	// removed. Empty: there is none.
	Checkpoint string
	// Progress, if not nil, is told now and then how far the search has come.
	Progress func(Result)
}

// Result is what a search has found.
type Result struct {
	States, Transitions uint64
	// Steps are the steps of machines that the transitions stand for: those that can be taken
	// in a state now, or after others that nobody notices.
	Steps uint64
	// Before is how much of these an earlier search had counted, from whose checkpoint this one
	// has gone on.
	Before Counts
	// Depth is the number of steps on the longest way to a state.
	Depth, Frontier int
	Nodes, Messages int // different ones
	Memory          uint64
	// Complete says that there is nothing else within the bounds. If it is not, and nothing
	// is violated, Stopped says why.
	Complete  bool
	Stopped   string
	Violation *Violation
}

// Counts are states, transitions and steps.
type Counts struct{ States, Transitions, Steps uint64 }

// Explore searches until all is known, the context ends or an invariant is broken. Then it
// searches again, what is nearest to the beginning first, and tells a shortest way there.
func Explore(ctx context.Context, o Options) (Result, error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	x := newSearch(o)
	if err := x.start(); err != nil {
		return Result{}, err
	}
	r, err := x.run(ctx)
	if err != nil || r.Violation == nil || r.Stopped != "" {
		return r, err
	}
	return shorter(ctx, o, r)
}

// shorter looks once more for what was found, in more states: none is left out because one
// covers it that is further from the beginning. By then the first search holds no memory.
func shorter(ctx context.Context, o Options, found Result) (Result, error) {
	o.Checkpoint = ""
	x := newSearch(o)
	x.states.byDepth = true
	x.begin()
	r, err := x.run(ctx)
	if err != nil || r.Violation == nil || r.Violation.Script == nil && found.Violation.Script != nil {
		return found, err
	}
	return r, nil
}

// run searches from where the search has been started.
func (x *search) run(ctx context.Context) (Result, error) {
	for len(x.workers) < x.options.Workers {
		x.employ()
	}
	var working sync.WaitGroup
	for _, w := range x.workers {
		working.Go(func() { w.work(ctx) })
	}
	working.Wait()
	if x.registry.full.Load() && !x.over.Load() { // by the very last steps
		x.look(ctx)
	}
	x.result.Memory = max(x.result.Memory, memoryUsed())
	r := x.summary()
	r.Complete = r.Frontier == 0 && !x.over.Load() && r.Violation == nil
	return r, errors.Join(x.err, x.finish())
}

// start begins at the beginning, or where the last search was stopped.
func (x *worker) start() error {
	if x.saved = time.Now(); x.options.Checkpoint != "" {
		if resumed, err := x.resume(); resumed || err != nil {
			return err
		}
	}
	x.begin()
	return nil
}

// finish keeps a search that was stopped for another day, and takes away what was written
// of one that is done. One that could not be written down is neither: what was written before
// stays.
func (x *search) finish() error {
	switch {
	case x.options.Checkpoint == "" || x.err != nil:
		return nil
	case x.result.Stopped != "":
		return x.save()
	}
	if err := os.Remove(x.options.Checkpoint); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// enough says why a search should end, if it should.
func (o *Options) enough(ctx context.Context, r *Result, states int, names *registry) string {
	switch {
	case ctx.Err() != nil:
		return "it was interrupted"
	case o.MaxStates > 0 && uint64(states) > o.MaxStates:
		return "it has come to as many states as it may"
	case o.MaxMemory > 0 && r.Memory > o.MaxMemory:
		return "it has used as much memory as it may"
	case names.full.Load():
		return fmt.Sprintf("there are more than %d different messages", mostMessages)
	default:
		return ""
	}
}

// memoryUsed is what this process has of the machine.
func memoryUsed() uint64 {
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(used)
	return used[0].Value.Uint64() - used[1].Value.Uint64()
}

func (x *search) summary() Result {
	r := x.result
	r.Nodes, r.Messages = x.registry.size()
	r.States = uint64(x.states.count)
	r.Frontier = len(x.frontier)
	for _, w := range x.workers {
		r.Frontier += len(w.due)
	}
	return r
}
