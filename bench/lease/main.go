// Command lease compares elections by a lease with their peer, side by side and in one run.
//
//	go run .            everything, in less than fifteen minutes; writes results/
//	go run . --quick    in less than a minute; writes nothing
//	go run . --json     prints one line of JSON
//	go run . --only takeover,overlap
//
// It starts a PostgreSQL of its own, unless HUSTINGS_TEST_POSTGRES names one. Interrupted, it
// reports what it has.
package main

import (
	"os"

	"github.com/hustings/hustings/bench/command"
	"github.com/hustings/hustings/bench/figure"
)

// sections returns all sections.
func sections(s *server) []figure.Section {
	return []figure.Section{takeoverSection(s), loadSection(s), renewalSection(s), overlapSection(s)}
}

func main() {
	var s server
	code := command.Main(sections(&s))
	s.stop() // if this is not reached, the server ends with its input
	os.Exit(code)
}
