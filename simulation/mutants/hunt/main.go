// Command hunt looks for a violation in the code that it was built from, with everything that the simulator has, and
// prints the result as JSON. With -explore the explorer looks instead.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// found is the result of a hunt.
type found struct {
	Invariant string `json:"invariant,omitempty"`
	What      string `json:"what,omitempty"`
	Seed      uint64 `json:"seed,omitempty"`  // that showed it
	Steps     int    `json:"steps,omitempty"` // of plain machines, if the explorer found it
	Seeds     uint64 `json:"seeds"`
	Events    uint64 `json:"events"`
	States    uint64 `json:"states,omitempty"` // of the explorer
}

func main() {
	limit := flag.Duration("for", time.Minute, "how long to look")
	exploring := flag.Bool("explore", false, "explore every interleaving within small bounds instead of seeds")
	crossing := flag.Bool("cross", false, "look at seeds, make the violation small, and let the explorer find it")
	world := flag.String("world", "voting", "elections by votes, or by leases in a database: voting or `lease`")
	var s search
	flag.StringVar(&s.faults, "faults", "all", "the faults that may strike")
	flag.StringVar(&s.unchecked, "unchecked", "", "an `invariant` that is not checked")
	flag.BoolVar(&s.plain, "plain", false, "no seed draws the configuration of its groups")
	flag.Uint64Var(&s.first, "first", 0, "the first seed")
	flag.Uint64Var(&s.count, "seeds", 0, "how many seeds to look at; 0: no end")
	flag.Parse()
	signal.Ignore(os.Interrupt) // the parent process ends it
	go watchMemory()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	look := func(ctx context.Context) (any, error) { return s.seeds(ctx) }
	switch {
	case *crossing:
		look = func(ctx context.Context) (any, error) { return s.cross(ctx) }
	case *exploring:
		look = func(ctx context.Context) (any, error) { return explored(ctx) }
	case *world == "lease":
		look = func(ctx context.Context) (any, error) { return s.leases(ctx) }
	}
	f, err := look(ctx)
	cancel()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// patience is much longer than a campaign takes for a batch of worlds, which is about a second.
const patience = time.Minute

// endless ends the process if it is not stopped, or reset by each batch, because the mutant makes a world go on without
// end: the context of a campaign ends it only between two worlds. Such a mutant is noticed.
func endless() *time.Timer {
	return time.AfterFunc(patience, func() {
		_ = json.NewEncoder(os.Stdout).Encode(found{Invariant: "it hangs"})
		os.Exit(0)
	})
}

// enough is more memory than any hunt needs.
const enough = 3 << 30

// watchMemory ends a mutant that grows without end, before the machine runs out of memory.
func watchMemory() {
	for range time.Tick(100 * time.Millisecond) {
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.Sys > enough {
			panic("it grows without end")
		}
	}
}
