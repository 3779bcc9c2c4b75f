// Command bench holds hustings against its peers, side by side and in one run.
//
//	go run .            everything, in less than ten minutes; writes results/
//	go run . --quick    in less than forty seconds; writes nothing
//	go run . --json     prints one line of JSON
//	go run . --only failover,events
//
// Interrupted, it reports what it has.
package main

import (
	"github.com/hustings/hustings/bench/churn"
	"github.com/hustings/hustings/bench/command"
	"github.com/hustings/hustings/bench/events"
	"github.com/hustings/hustings/bench/failover"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/groups"
	"github.com/hustings/hustings/bench/operation"
	"github.com/hustings/hustings/bench/realtime"
)

// sections are all that can be measured.
func sections() []figure.Section {
	return []figure.Section{failover.Section(), realtime.Section(), operation.Section(), groups.Section(), events.Section(), churn.Section()}
}

func main() { command.Main(sections()) }
