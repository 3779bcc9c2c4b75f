// The shipped sources, and which simulator runs them. They are found by walking through the directories, so that
// new code is mutated from its first day; code that does not ship is listed instead.

package main

import (
	"go/build"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// aside are directories and files that no member needs: they test, measure and draw the shipped code, or talk to
// people.
var aside = []string{
	"bench", "simulation", "proto", // the last is generated
	"cmd/hustings/main.go", "cmd/hustings/internal/processes",
	"internal/browser", "internal/alerts", "internal/certs", "internal/crashdisk", "internal/electiontest", "internal/effort", "internal/faultdisk", "internal/faultproxy", "internal/release", "internal/tools", "internal/wallclock",
	"examples/ledger/internal/history", "examples/ledger/internal/simulated", "lease/internal/storetest", "lease/leasetest", "rpc/rpctest",
	// The canonical form of a machine is for searches that compare states, and so is what they look at.
	"elector/protocol/machine_canonical.go", "elector/protocol/session_canonical.go", "elector/protocol/node_inspect.go",
}

// The worlds of the two simulators, and the one that neither of them runs.
const (
	voting  = "voting"
	leasing = "lease"
	neither = "shell"
)

// worlds says which simulator runs a file or a directory, without the directories below it. Neither runs the code
// that is not in here.
var worlds = map[string]string{
	"elector/protocol":   voting,
	"elector/promise.go": voting,
	"memberstate":        voting,
	"rpc/beat.go":        voting,
	"rpc/message.go":     voting,
	"simulation":         voting,
	"internal/office":    leasing,
	"lease/protocol":     leasing,
	"lease/internal/row": leasing,
	"simulation/leases":  leasing,
}

// worldOf is the world in which a mutant of a file would be noticed.
func worldOf(file string) string {
	for _, of := range []string{file, path.Dir(file)} {
		if world, ok := worlds[of]; ok {
			return world
		}
	}
	return neither
}

// shipped are the sources that ship on this system, without tests, by their names below the root.
func shipped(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		switch {
		case below == ".":
			return nil
		case slices.Contains(aside, below), entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir(), !strings.HasSuffix(below, ".go"), strings.HasSuffix(below, "_test.go"):
			return nil
		}
		if here, err := build.Default.MatchFile(filepath.Dir(name), entry.Name()); err != nil || !here {
			return err
		}
		files = append(files, below)
		return nil
	})
	return files, err
}
