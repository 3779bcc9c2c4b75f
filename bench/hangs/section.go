// Package hangs measures how long a group waits for another leader when its leader cannot work any
// more: its disk or its engine hangs, or its process is stopped. All libraries run with the goroutines
// and timers that they have in production, in virtual time.
package hangs

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const name = "hangs"

// Section measures leaders that hang. The program is bubble.
func Section(bubble *peer.Program) figure.Section {
	return figure.Section{
		Name: name, Title: "Leaders that hang: from then until another leader has served a write, in detection times T, and whether that ever happens",
		Configured: []string{
			fmt.Sprintf("Three members in one process, with all their goroutines, in virtual time (testing/synctest). A message takes %v one way, a save %v; T is %v, and heartbeats are sent every T/10. While a member leads, a client begins a write at it every T/100, whatever has come of the last ones, and gives each up after T/2. A write has been served when the leader has applied the entry, which it and a quorum have saved.", delay, saving, Detection),
			"A disk that hangs: no save ends, whatever it is for. An engine that hangs: no entry is applied. A stopped process: nothing leaves or reaches the member, and it is all delivered later. A whole engine that hangs: nor does any append, LedgerEnd, Pause, Healthy or Lead return. Hangs last for ever; after 60 T the trial ends, and the leader is never replaced.",
			"Ours: an elector.Host, the intervals of elector.DefaultTiming in proportion, pre-vote and ranks on, no leases, and the smallest engine that replicates a log. Vouch is T; Healthy saves something, and waits for what is being applied. Without Vouch, the Host would see a hanging disk only if it has something of its own to save.",
			"etcd/raft 3.7: RawNode, ticks of T/10, election tick 10, CheckQuorum, PreVote. One loop: its README's, which saves, sends and applies in one goroutine; so whatever hangs silences the leader, as does every save and every entry that takes longer than T. As etcd has it: the loop saves and sends, and entries are applied beside it. AsyncStorageWrites: its documentation's loop and two threads.",
			"hashicorp/raft 1.8: its NetworkTransport, HeartbeatTimeout = ElectionTimeout = LeaderLeaseTimeout = T, all else by default with pre-vote on. It sends heartbeats beside everything else, so that slow disks cost no elections (its docs/divergence.md); its documentation has nothing for a disk or a state machine that hangs.",
			"dragonboat 4 (076c7f6497dc): a NodeHost with the log tan on a disk in memory, RTTMillisecond T/10, ElectionRTT 10, CheckQuorum, PreVote.",
			"Watchdog: what an application can write around a library, with the call that each has for handing over (TransferLeader, LeadershipTransfer, RequestLeaderTransfer). A leader on which no write has succeeded for T hands over; if it still leads after T more, its process ends. It needs clients that always write.",
		},
		Extent: func(p figure.Plan) string {
			return fmt.Sprintf("%d trials of each, and figures are over all of them; after %d trials in which a leader was never replaced, no more are run.", trials(p), hopelessAfter)
		},
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return measureAll(ctx, bubble, p) },
	}
}

// trials returns the number of trials of each fault, for each side.
func trials(p figure.Plan) int {
	if p.Quick {
		return 2
	}
	return 200
}

func measureAll(ctx context.Context, bubble *peer.Program, p figure.Plan) (figures []figure.Figure, err error) {
	child, err := bubble.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // all its results have been read
	faults := []Fault{DiskHangs, EngineHangs, ProcessStops, AllHangs}
	for i, f := range faults {
		outcomes := map[string]Outcome{}
		sides := append([]string{own}, peers(f)...)
		for j, side := range sides {
			p.Progress(side+", "+string(f), (float64(i)+float64(j)/float64(len(sides)))/float64(len(faults)))
			outcomes[side], err = peer.Do[Outcome](child, name, Task{side, f, trials(p)})
			if err != nil {
				return figures, measure.UnlessOver(ctx, err)
			}
		}
		figures = append(figures, figuresOf(f, sides[1:], outcomes)...)
	}
	return figures, nil
}

// aspects are what figures are made of.
var aspects = []struct {
	name, unit string
	of         func(Outcome) float64
	always     bool // it also has a value if some leaders are never replaced
}{
	{"mean", "T", func(o Outcome) float64 { return o.Mean }, false},
	{"p99", "T", func(o Outcome) float64 { return o.P99 }, false},
	{"never replaced", "% of trials", func(o Outcome) float64 { return o.Never }, true},
}

// figuresOf puts our outcome under a fault beside that of each peer, or of none.
func figuresOf(f Fault, peers []string, outcomes map[string]Outcome) (figures []figure.Figure) {
	ours := outcomes[own]
	for _, a := range aspects {
		if len(peers) == 0 {
			figures = append(figures, figure.Figure{Section: name, Name: fmt.Sprintf("%s: %s", f, a.name), Unit: a.unit, Ours: a.of(ours), Chart: string(f) + ": " + a.name, At: own})
		}
		for _, other := range peers {
			one := figure.Figure{
				Section: name, Name: fmt.Sprintf("%s, beside %s: %s", f, other, a.name), Unit: a.unit, Ours: a.of(ours),
				Chart: string(f) + ": " + a.name, At: other, Detail: a.always,
			}
			if theirs := outcomes[other]; a.always || theirs.Never == 0 {
				one.Beside(other, a.of(theirs))
			} else {
				one.PeerName = fmt.Sprintf("never in %.0f %% of trials: %s", theirs.Never, other)
			}
			figures = append(figures, one)
		}
	}
	return figures
}
