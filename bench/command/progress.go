// The progress of a run: a bar on a terminal, and lines elsewhere.

package command

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// progress shows the progress of a run, as a bar in the last line of a terminal, or as at most
// twenty lines, so that a log does not fill up.
type progress struct {
	out      io.Writer
	terminal bool
	told     int // twentieths that were printed
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

const (
	barWidth = 30
	lines    = 20
)

func (p *progress) show(what string, done float64) {
	done = min(max(done, 0), 1)
	if p.terminal {
		full := int(done * barWidth)
		p.print("\r\x1b[K[%s%s] %3.0f %%  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), 100*done, what)
		return
	}
	if step := int(done*lines) + 1; step > p.told {
		p.told = step
		p.print("%3.0f %%  %s\n", 100*done, what)
	}
}

// clear makes room for what is printed next.
func (p *progress) clear() {
	if p.terminal {
		p.print("\r\x1b[K")
	}
}

// print ignores errors, because progress is not a result.
func (p *progress) print(format string, values ...any) { _, _ = fmt.Fprintf(p.out, format, values...) }
