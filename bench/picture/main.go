// Command picture draws how the cost of groups grows with their number, from the results of the
// section groups, for the documents. Run it in the module's folder, after
// go run . --only groups --long --keep.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hustings/hustings/bench/report"
)

func main() {
	if err := run(filepath.Join("results", "figures.json"), filepath.Join("..", "docs", "scale.svg")); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(figures, picture string) error {
	in, err := os.Open(figures)
	if err != nil {
		return err
	}
	results, err := report.Read(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	out, err := os.Create(picture)
	if err != nil {
		return err
	}
	return errors.Join(draw(out, results), out.Close())
}

func draw(w io.Writer, results *report.Run) error {
	idle, recovery, err := panels(results)
	if err != nil {
		return err
	}
	return drawing.Execute(w, []panel{idle, recovery})
}
