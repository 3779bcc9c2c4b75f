// Package explore plays every interleaving of shipped sessions within bounds. A session is a machine and
// what its driver remembers. Every message that was ever sent may arrive at any time, any number of
// times, or never. Every alarm may ring at any time. Every process may crash at any time. A crash between a
// save and the messages that should follow it is the same as a crash after they were sent, if none of them
// ever arrives. A failed save is a crash, too, because a member whose save fails sends nothing and stops: a
// crash before the step if the disk has kept nothing, and between save and send if it has.
//
// The network is monotone: no message is ever taken out of it. So loss, duplication, reordering, delay and
// staleness need no budgets.
//
// A reduction leaves out states or transitions of the search. It is sound if it hides no violation that can be
// reached; it may show one that is impossible, see below. All of these are sound in a monotone network, even if the
// code is wrong, except that symmetry relies on code that treats all seats alike where it tries one seating only:
// in groups of four and five, and for stale messages. If you remove a reduction no test fails, but the search gets
// larger. The head of the first file of each has the argument, with an example, and a variant that looks right and
// is not sound, or costs too much.
// A step is silent if it sends nothing and makes nothing durable, so that no other node can notice it.
// Lead is the engine's function. It may still run when the term that it serves is over.
//
//	reduction            file                why it is sound                                   the test that fails if it is not sound
//	silent steps wait    closure.go          a step that no other node notices can as well     TestAClosureLeavesNothingOut
//	                     closure_search.go   be taken just before the next one that is noticed
//	subsumption          subsumption.go      every step left out can be reached silently       TestASubsumedSuccessorIsReachedLater
//	                                         from one that is kept
//	saturation           saturation.go       no node has to receive a message, so sending it   TestTheExplorerCoversASearchWithoutReductions
//	                                         early still allows everything else
//	waits are one step   step_waits.go       an event during a wait is also tried before and   TestEventsDuringAWaitAreCompared
//	                                         after the step, and compared
//	prompt returns       lead_return.go      every input is also given to the node whose       TestStepsDuringAnOldLeadAreCompared
//	                                         Lead still runs, and compared
//	antichain            states.go           of two states with the same nodes and leaders,    TestAStateWithOtherLeadersIsNotCovered
//	                                         the one with more messages can do more
//	symmetry             symmetry.go         renaming the members changes nothing, and a       TestSuccessorsAreSymmetric
//	                                         node chooses as it would in any seat              TestOnlyTheChoiceOfASuccessorIsAsymmetric
//	retry variants       retry_variants.go   both variants are given every input               TestTheExplorerCoversRandomRuns
//	ability              ability.go          every input is given to a node in every state     TestTheExplorerCoversRandomRuns
//	                                         of ability
//	stale messages       stale.go            every message that could have been sent may       TestNoStaleMessageIsMissed
//	                     stale_messages.go   arrive                                            TestEveryMessageIsListedAsStale
//
// Symmetry, retry variants, ability and stale messages allow more than can happen. So a violation may be impossible, and
// each one is played again without reductions (counterexample_confirm.go). If there is no violation in more than
// can happen, there is none in what can. Three tests check all reductions together: a search that shares only the
// canonical form of a machine with the explorer (TestTheExplorerCoversASearchWithoutReductions), random runs
// (TestTheExplorerCoversRandomRuns), and the simulator (TestTheExplorerCoversTheSimulator) must not reach a state
// that the explorer has missed. The tests of closures, subsumption, symmetric successors and stale messages run
// only if HUSTINGS_TEST_WHOLE is set (`long` in explore_test.go), as in make verify and in the gate; without it
// TestTheExplorerCoversTheSimulator is skipped, too, and the other two that check all reductions try only a part.
// docs/verification.md says which broken reductions these tests did not notice.
//
// Other files save time, and do not affect the result. docs/verification.md says what reductions and caches save:
//
//	result_cache.go   successors are found again if only messages without effect have changed
//	duplicates.go     a state that was found a moment ago is not canonized again
//	frontier.go       states that cover most are looked at first
//	unprompted.go     what a node can do whatever it receives is worked out once
//	registry.go       workers share their results
//	checkpoint.go     a search of days can be stopped and resumed
//
// The rest: node.go, message.go and input.go define states and inputs; step.go, step_result.go, driver.go and
// ticks.go take a node through an input; successors.go, model.go, search.go and worker.go go from states to
// states; script*.go and counterexample*.go present violations.
//
// [Live] (live.go) is another search, without reductions, in a network that forgets: it asks whether a leader can
// always be elected. Time is modelled only where there are leases. Only states beyond the [Bounds] are
// pruned: if [Result.Complete], all states within them were reached.
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

// Bounds say how far the search goes.
type Bounds struct {
	// Members is how many voters there are, up to 5.
	Members int
	// Terms is the largest term that a member leads or asks for, up to 7.
	Terms int
	// Beats is how many rounds of heartbeats an office has, and Leak how many of them in a row
	// end it if no quorum answers; 0: one does.
	Beats, Leak int
	// Entries is the largest length of a ledger; 0: ledgers stay empty.
	Entries int
	// NoPreVote is as in elector.GroupConfig.
	NoPreVote bool
	// Leases turns leases on. Time then passes in ticks; a promise lasts three, and a lease two.
	// Lag is how many ticks a clock may miss in all. A promise is longer than a lease by one tick,
	// so with a larger Lag two members can hold leases at once.
	Leases bool
	Lag    int
	// NoCrash excludes crashes, NoTransfer orders to hand over, to resign and to stand, and NoHints
	// reports of lost connections.
	NoCrash, NoTransfer, NoHints bool
	// Withdrawals lets engines return from Lead early, and lets orders to hand over or to resign be
	// withdrawn.
	Withdrawals bool
	// Pauses lets engines take their time to pause their writes for a handover, or fail to. Otherwise
	// they pause at once.
	Pauses bool
	// Ability lets members become unable to lead at any time, and able again. An engine may also not
	// return from LedgerEnd before a leader's office ends.
	Ability bool
}

// handsOver says whether leaders hand over, for whatever reason.
func (b *Bounds) handsOver() bool { return !b.NoTransfer || b.Ability }

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
		timeless = errors.New("explore: Lag is set without Leases")
	}
	if b.Withdrawals && b.NoTransfer || b.Pauses && !b.handsOver() {
		orderless = errors.New("explore: Withdrawals or Pauses is set together with NoTransfer")
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

// Options configure a search.
type Options struct {
	Bounds
	// MaxStates and MaxMemory, in bytes, end the search; 0: no limit.
	MaxStates, MaxMemory uint64
	// Workers is how many goroutines search; 0: one. With more the number of states varies a little,
	// because some states are found before others that cover them.
	Workers int
	// Checkpoint names a file that the search is written to now and then, and when it is stopped. If
	// the file is there, the search resumes from it. It is removed when the search is done. Empty:
	// there is none.
	Checkpoint string
	// Progress, if not nil, is called now and then.
	Progress func(Result)
}

// Result is the result of a search.
type Result struct {
	States, Transitions uint64
	// Steps are the steps of machines that the transitions stand for: those that can be taken in a
	// state at once, or after silent ones.
	Steps uint64
	// Before is the part of these counts that an earlier search had reached, from whose checkpoint
	// this one was resumed.
	Before Counts
	// Depth is the number of steps on the longest path to a state.
	Depth, Frontier int
	Nodes, Messages int // different ones
	Memory          uint64
	// Complete says that all states within the bounds were reached. If it is false, and nothing is
	// violated, Stopped says why.
	Complete  bool
	Stopped   string
	Violation *Violation
}

// Counts are states, transitions and steps.
type Counts struct{ States, Transitions, Steps uint64 }

// Explore searches until all states are known, the context ends or an invariant is broken. After a
// violation it searches again, breadth-first, and reports a shortest path.
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

// shorter searches again for the violation, breadth-first. That takes more states, because a state no
// longer covers one that is nearer to the beginning. By then the first search holds no memory.
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

// run searches from where the search was started.
func (x *search) run(ctx context.Context) (Result, error) {
	for len(x.workers) < x.options.Workers {
		x.addWorker()
	}
	var working sync.WaitGroup
	for _, w := range x.workers {
		working.Go(func() { w.work(ctx) })
	}
	working.Wait()
	if x.registry.full.Load() && !x.over.Load() { // the very last steps have filled it
		x.checkLimits(ctx)
	}
	x.result.Memory = max(x.result.Memory, MemoryUsed())
	r := x.summary()
	r.Complete = r.Frontier == 0 && !x.over.Load() && r.Violation == nil
	return r, errors.Join(x.err, x.finish())
}

// start begins at the first state, or at the checkpoint.
func (x *worker) start() error {
	if x.saved = time.Now(); x.options.Checkpoint != "" {
		if resumed, err := x.resume(); resumed || err != nil {
			return err
		}
	}
	x.begin()
	return nil
}

// finish writes a stopped search to its checkpoint, and removes the checkpoint of a search that is done. If
// a checkpoint could not be written, the old one stays.
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

// enough says why the search should end; empty if it should not.
func (o *Options) enough(ctx context.Context, r *Result, states int, shared *registry) string {
	switch {
	case ctx.Err() != nil:
		return "it was interrupted"
	case o.MaxStates > 0 && uint64(states) > o.MaxStates:
		return "it has reached the limit of states"
	case o.MaxMemory > 0 && r.Memory > o.MaxMemory:
		return "it has reached the limit of memory"
	case shared.full.Load():
		return fmt.Sprintf("there are more than %d different messages", mostMessages)
	default:
		return ""
	}
}

// MemoryUsed is the memory that this process has from the system.
func MemoryUsed() uint64 {
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
		r.Frontier += len(w.batch)
	}
	return r
}
