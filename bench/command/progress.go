// How far a run is, for whoever watches it at a terminal.

package command

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// progress is a bar in the last line of a terminal, or nothing.
type progress struct{ out io.Writer }

func newProgress(out io.Writer) *progress {
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{out}
		}
	}
	return &progress{io.Discard}
}

const barWidth = 30

func (p *progress) show(what string, done float64) {
	done = min(max(done, 0), 1)
	full := int(done * barWidth)
	p.print("\r\x1b[K[%s%s] %3.0f %%  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), 100*done, what)
}

func (p *progress) clear() { p.print("\r\x1b[K") }

// print prints. There is no one to tell that it failed.
func (p *progress) print(format string, values ...any) { _, _ = fmt.Fprintf(p.out, format, values...) }
