// Command bench compares hustings with its peers, side by side and in one run.
//
//	go run .            everything, in twenty minutes; writes results/
//	go run . --quick    in less than forty seconds; writes nothing
//	go run . --json     prints one line of JSON
//	go run . --only failover,events
//	go run . --only groups --long     up to 100,000 groups, in seven minutes
//	go run . --only drain --long      up to 100,000 groups, in three minutes
//	go run . --only failover --keep   writes these sections to results/, beside the others of the last run
//
// Interrupted, it reports what it has.
package main

import (
	"os"

	"github.com/hustings/hustings/bench/churn"
	"github.com/hustings/hustings/bench/command"
	"github.com/hustings/hustings/bench/drain"
	"github.com/hustings/hustings/bench/events"
	"github.com/hustings/hustings/bench/failover"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/groups"
	"github.com/hustings/hustings/bench/hangs"
	"github.com/hustings/hustings/bench/operation"
	"github.com/hustings/hustings/bench/peer"
	"github.com/hustings/hustings/bench/realtime"
)

// sections returns all sections. older is a program with the older peer, bubble one in virtual time.
func sections(older, bubble *peer.Program) []figure.Section {
	return []figure.Section{
		failover.Section(older), hangs.Section(bubble), realtime.Section(), operation.Section(older),
		groups.Section(older, bubble), drain.Section(bubble), events.Section(older), churn.Section(older),
	}
}

func main() {
	older, bubble := peer.NewProgram("raft36"), peer.NewProgram("bubble")
	code := command.Main(sections(older, bubble))
	_, _ = older.Close(), bubble.Close() // a leftover temporary folder does no harm
	os.Exit(code)
}
