// Command bubble measures, in virtual time, libraries that use the real clock. Go offers that only to
// tests (testing/synctest), so this program is one test, which does jobs until its input ends. It is a
// module of its own because dragonboat has many dependencies.
package main

import (
	"os"
	"os/signal"
	"testing"

	"github.com/hustings/hustings/bench/drain"
	"github.com/hustings/hustings/bench/groups"
	"github.com/hustings/hustings/bench/hangs"
	"github.com/hustings/hustings/bench/peer"
)

func main() {
	signal.Ignore(os.Interrupt) // it is for the parent, which then sends no more jobs
	every := func(string, string) (bool, error) { return true, nil }
	testing.Main(every, []testing.InternalTest{{Name: "jobs", F: serve}}, nil, nil)
}

func serve(t *testing.T) {
	t.Helper()
	quieten()
	jobs := peer.Jobs{"hangs": hangs.Job(t, hangs.With(hangs.Dragonboat, found)...), groups.Name: peer.Of(measureGroups), drain.Name: drain.Job(t)}
	if err := peer.Serve(t.Context(), os.Stdin, os.Stdout, jobs); err != nil {
		t.Fatal(err)
	}
}
