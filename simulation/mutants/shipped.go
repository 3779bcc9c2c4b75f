// What ships, and what runs it. Directories are looked through, so that whatever is added
// is broken on purpose from its first day; what does not ship is listed instead.

package main

import (
	"go/build"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// aside are directories and files that hold nothing that a member needs: they test, measure
// and draw what ships, or talk to people.
var aside = []string{
	"bench", "simulation", "proto", // the last is generated
	"cmd/hustings/main.go", "cmd/hustings/internal/cli", "cmd/hustings/internal/processes",
	"internal/browser", "internal/alerts", "internal/certs", "internal/crashdisk", "internal/electiontest", "internal/line", "internal/tools",
	"lease/internal/storetest", "lease/leasetest", "rpc/rpctest",
	// The canonical form of a machine is for whoever compares states.
	"elector/protocol/machine_canonical.go", "elector/protocol/session_canonical.go",
}

// The worlds of the two simulators, and the one that neither of them runs.
const (
	voting  = "voting"
	leasing = "lease"
	neither = "shell"
)

// worlds says which simulator runs a directory, not what lies below it, or a file. What is
// not here is run by neither.
var worlds = map[string]string{
	"elector/protocol":   voting,
	"elector/promise.go": voting,
	"memberstate":        voting,
	"rpc/message.go":     voting,
	"simulation":         voting,
	"internal/office":    leasing,
	"lease/protocol":     leasing,
	"lease/internal/row": leasing,
	"simulation/leases":  leasing,
}

// worldOf is the one in which a mutant of a file would be noticed.
func worldOf(file string) string {
	for _, of := range []string{file, path.Dir(file)} {
		if world, ok := worlds[of]; ok {
			return world
		}
	}
	return neither
}

// shipped are the sources of what ships on this system, but for tests, by their names below
// the root.
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
