// Package text reads scenarios and the explorer's scripts: lines of words with blanks between them. An
// error names the line and the word that is not understood.
package text

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hustings/hustings/simulation/invariant"
)

// Line is a line that is not empty.
type Line struct {
	Number int // from 1
	Text   string
	Nodes  []int // that it names
}

// Refused is an error about a line.
func (l *Line) Refused(err error) error {
	return fmt.Errorf("line %d: %q: %w", l.Number, l.Text, err)
}

// Read calls read for every line that is not empty, up to the first that is refused. A # between
// blanks, or at the beginning of a line, begins a comment.
func Read(r io.Reader, read func(w *Words) error) ([]Line, error) {
	var all []Line
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if at := slices.IndexFunc(fields, func(word string) bool { return word == "#" }); at >= 0 {
			fields = fields[:at]
		}
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		w := &Words{rest: fields, line: Line{Number: number, Text: strings.Join(fields, " ")}}
		err := errors.Join(read(w), w.err)
		switch {
		case w.err != nil:
			err = w.err
		case err == nil && len(w.rest) > 0:
			err = fmt.Errorf("unexpected %q", strings.Join(w.rest, " "))
		}
		if err != nil {
			return nil, w.line.Refused(err)
		}
		all = append(all, w.line)
	}
	return all, lines.Err()
}

// Words are what is left of a line, and the first thing that was wrong with it.
type Words struct {
	rest []string
	err  error
	line Line
}

// Fail refuses the line, if it is not refused yet.
func (w *Words) Fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// Line is the number of the line.
func (w *Words) Line() int { return w.line.Number }

// More says whether there are words left, and the line is not refused.
func (w *Words) More() bool { return len(w.rest) > 0 && w.err == nil }

// Left are the words that are left.
func (w *Words) Left() []string { return w.rest }

// Next takes the next word.
func (w *Words) Next() string {
	if len(w.rest) == 0 {
		w.Fail("it ends too early")
		return ""
	}
	word := w.rest[0]
	w.rest = w.rest[1:]
	return word
}

// Has takes a word if it is the next one.
func (w *Words) Has(word string) bool {
	if len(w.rest) > 0 && w.rest[0] == word {
		w.rest = w.rest[1:]
		return true
	}
	return false
}

// OneOf takes a word that must be one of these, and calls its function.
func (w *Words) OneOf(known map[string]func()) {
	word := w.Next()
	if do := known[word]; do != nil {
		do()
		return
	}
	w.Fail("%q is none of %s", word, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// On takes "on" or "off".
func (w *Words) On() (on bool) {
	w.OneOf(map[string]func(){"on": func() { on = true }, "off": func() {}})
	return on
}

// Natural is a number that is not negative, and not larger than most.
func (w *Words) Natural(most uint64) uint64 {
	word := w.Next()
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil || n > most {
		w.Fail("%q is no number from 0 to %d", word, most)
	}
	return n
}

// Number takes a number.
func (w *Words) Number() int64 {
	word := w.Next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		w.Fail("%q is no number", word)
	}
	return n
}

// Duration takes a time.
func (w *Words) Duration() time.Duration {
	word := w.Next()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		w.Fail("%q is no time such as 300ms", word)
	}
	return d
}

// Node takes a node.
func (w *Words) Node() int { return w.node(w.Next(), "node such as n0") }

func (w *Words) node(word, want string) int {
	digits, ok := strings.CutPrefix(word, "n")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil {
		w.Fail("%q is no %s", word, want)
	}
	w.line.Nodes = append(w.line.Nodes, int(n))
	return int(n)
}

// Link takes a link, by sender and receiver.
func (w *Words) Link() [2]int { return w.link(w.Next()) }

// Links takes several, with commas between them.
func (w *Words) Links() (links [][2]int) {
	for word := range strings.SplitSeq(w.Next(), ",") {
		links = append(links, w.link(word))
	}
	return links
}

func (w *Words) link(word string) (link [2]int) {
	const want = "link such as n0>n1"
	from, to, ok := strings.Cut(word, ">")
	if !ok {
		w.Fail("%q is no %s", word, want)
	}
	link = [2]int{w.node(from, want), w.node(to, want)}
	if link[0] == link[1] {
		w.Fail("%q is no %s", word, want)
	}
	return link
}

// Violation takes the rest of the line, which must be the name of an invariant.
func (w *Words) Violation() (i invariant.Invariant) {
	name := strings.Join(w.rest, " ")
	w.rest = nil
	for i < invariant.Count && i.String() != name {
		i++
	}
	if i == invariant.Count {
		w.Fail("no invariant is called %q", name)
	}
	return i
}
