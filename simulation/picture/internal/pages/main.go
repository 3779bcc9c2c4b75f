// Command pages writes the pages of the sample traces into a directory, to be looked at
// and for the test in a browser:
//
//	go run ./simulation/picture/internal/pages DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/picture"
	"github.com/hustings/hustings/simulation/picture/internal/sample"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages DIR")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeAll(dir string) error {
	original, shrunk := sample.Violation()
	pages := map[string]picture.Page{
		"violation": {Title: "Two leaders in a term", Replay: "hustings sim --seed 11 --picture out.html", Traces: []picture.Tab{
			{Name: "original", Trace: original}, {Name: "shrunk", Trace: shrunk},
		}},
		"calm":    {Title: "An election with faults", Replay: "hustings sim --seed 5", Traces: tab(sample.Options{Nodes: 6, Observers: 1, Seed: 5, Moments: 5000})},
		"large":   {Title: "A long run", Replay: "hustings sim --seed 9", Traces: tab(sample.Options{Nodes: 5, Seed: 9, Moments: 100_000})},
		"nothing": {Title: "Nothing", Traces: []picture.Tab{{Name: "empty", Trace: &simulation.Trace{}}}},
	}
	for name, page := range pages {
		if err := write(filepath.Join(dir, name+".html"), page); err != nil {
			return err
		}
	}
	return nil
}

func tab(o sample.Options) []picture.Tab {
	return []picture.Tab{{Name: "run", Trace: sample.Make(o)}}
}

func write(path string, page picture.Page) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := picture.Write(file, page); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Close()
}
