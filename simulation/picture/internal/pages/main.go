// Command pages writes the pages of the sample traces into a directory, for readers and for the
// test in a browser:
//
//	go run ./simulation/picture/internal/pages DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hustings/hustings/simulation/picture"
	"github.com/hustings/hustings/simulation/picture/internal/sample"
	"github.com/hustings/hustings/simulation/trace"
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
		"violation": {Title: "A careless engine", Replay: "hustings replay scenario.txt", Traces: []picture.Tab{
			{Name: "shrunk", Trace: shrunk}, {Name: "original", Trace: original},
		}},
		"stormy":   {Title: "A run with faults", Replay: "hustings replay --seed 7", Traces: tab(sample.Stormy())},
		"large":    {Title: "A long run", Replay: "hustings replay --seed 9", Traces: tab(sample.Long(100_000))},
		"crowded":  {Title: "Much at once", Traces: tab(sample.Crowded())},
		"explored": {Title: "Two leases", Replay: "hustings replay scenario.txt", Traces: tab(sample.Explored())},
		"nothing":  {Title: "Nothing", Traces: []picture.Tab{{Name: "empty", Trace: &trace.Trace{}}}},
	}
	for name, page := range pages {
		if err := write(filepath.Join(dir, name+".html"), page); err != nil {
			return err
		}
	}
	return nil
}

func tab(t *trace.Trace) []picture.Tab { return []picture.Tab{{Name: "run", Trace: t}} }

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
