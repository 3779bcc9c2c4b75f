// Command hunt looks for a violation in the code that it was built from, with all
// that the simulator has, and prints what it found as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hustings/hustings/simulation"
)

// found is what a hunt comes to.
type found struct {
	Invariant string `json:"invariant,omitempty"`
	What      string `json:"what,omitempty"`
	Seed      uint64 `json:"seed,omitempty"` // the one that showed it
	Seeds     uint64 `json:"seeds"`
	Events    uint64 `json:"events"`
}

func main() {
	limit := flag.Duration("for", time.Minute, "how long to look")
	faults := flag.String("faults", "all", "the faults that may strike")
	flag.Parse()
	f, err := hunt(*limit, *faults)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func hunt(limit time.Duration, faults string) (found, error) {
	set, err := simulation.ParseFaults(faults)
	if err != nil {
		return found{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := simulation.Campaign{UntilFailure: true, Options: func(seed uint64) simulation.Options { return options(seed, set) }}
	total, err := c.Run(ctx)
	f := found{Seeds: total.Seeds, Events: total.Events}
	if len(total.Failing) > 0 {
		first := total.Failing[0]
		f.Invariant, f.What, f.Seed = first.Violation.Invariant.String(), first.Violation.Error(), first.Seed
	}
	return f, err
}

// options have every feature on in some seeds and off in others.
func options(seed uint64, faults simulation.FaultSet) simulation.Options {
	return simulation.Options{
		Seed: seed, Members: 3 + int(seed%3), Leases: seed%2 == 0, NoPreVote: seed%7 == 3, NoRanks: seed%5 == 1,
		Duration: 30 * time.Second, Faults: faults,
	}
}
