// This file has the book that a judge keeps: the story, the counts, and the first violation.

package shell

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Violation is an invariant that did not hold.
type Violation struct {
	Seed      uint64
	At        time.Duration // since the world began
	Invariant Invariant
	What      string
	// Story lists the events before the violation, one a line.
	Story []string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("after %v: %v: %s", v.At, v.Invariant, v.What)
}

// book holds the notes about a world. It is opened before it is used. mu guards the fields
// below it.
type book struct {
	seed   uint64
	began  time.Time
	failed chan struct{} // closed with the first violation
	live   func(string)  // receives every line of the story, if not nil
	named  []string      // the names of the groups

	mu        sync.Mutex
	violation *Violation
	checked   [invariants]uint64
	met       [conditions]uint64
	strikes   [faults]uint64
	story     []string
	last      uint64 // the last id given
}

func (b *book) open(seed uint64, live func(string)) {
	b.seed, b.began, b.failed, b.live = seed, time.Now(), make(chan struct{}), live
}

const (
	mostLines = 4000 // lines that the book keeps
	toldLines = 100  // lines that a violation gets
)

// tell adds a line to the story.
func (b *book) tell(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(format, args...)
}

func (b *book) note(format string, args ...any) {
	line := fmt.Sprintf("%12v  ", time.Since(b.began)) + fmt.Sprintf(format, args...)
	if b.live != nil {
		b.live(line)
	}
	if len(b.story) == mostLines {
		b.story = append(b.story[:0], b.story[mostLines/2:]...)
	}
	b.story = append(b.story, line)
}

// holds counts a check, and notes the first violation. mu is held.
func (b *book) holds(i Invariant, holds bool, who, format string, args ...any) bool {
	b.checked[i]++
	if holds || b.violation != nil {
		return holds
	}
	what := fmt.Sprintf(format, args...)
	if who != "" {
		what = who + ": " + what
	}
	b.note("VIOLATION of %q: %s", i.String(), what)
	b.violation = &Violation{Seed: b.seed, At: time.Since(b.began), Invariant: i, What: what, Story: b.excerpt(who)}
	close(b.failed)
	return false
}

// excerpt is the end of the story. If who names a group, it omits the lines about other groups.
func (b *book) excerpt(who string) (lines []string) {
	_, group, _ := strings.Cut(who, " ")
	for _, line := range b.story {
		other := false
		for _, name := range b.named {
			other = other || group != "" && name != group && strings.Contains(line, " "+name)
		}
		if !other {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-toldLines):]
}

// check is holds for callers that do not hold mu.
func (b *book) check(i Invariant, holds bool, who, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds(i, holds, who, format, args...)
}

func (b *book) struck(f Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.strikes[f]++
}

// struckAt is struck with a line in the story.
func (b *book) struckAt(f Fault, where string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.strikes[f]++
	b.note("%s: %v", where, f)
}

func (b *book) nextID() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	return b.last
}

// result is the result of a run, as far as the book has it. mu is held.
func (b *book) result(kind Kind) *Result {
	r := &Result{
		Seed: b.seed, Virtual: time.Since(b.began), Struck: map[Fault]uint64{}, Checked: map[Invariant]uint64{}, Met: map[Condition]uint64{},
		Violation: b.violation,
	}
	for _, i := range kind.Invariants() {
		r.Checked[i] = b.checked[i]
	}
	for _, c := range kind.Conditions() {
		r.Met[c] = b.met[c]
	}
	for _, f := range kind.Faults() {
		r.Struck[f] = b.strikes[f]
	}
	return r
}

// ends checks that no goroutines are left when a world is over.
func (b *book) ends(left []string) {
	b.check(NothingLeft, len(left) == 0, "", "%d goroutines are left: %s", len(left), strings.Join(left, "\n\n"))
}
