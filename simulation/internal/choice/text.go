// Choices as lines of a scenario's text.

package choice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hustings/hustings/simulation/internal/text"
)

// names are the words that the lines begin with.
var names = [kinds]string{"message", "append", "wait", "save", "torn", "write", "tick", "stop", "ledger", "answer", "pause", "health"}

// KindOf is the kind of choice whose lines begin with a word.
func KindOf(word string) (Kind, bool) {
	kind := slices.Index(names[:], word)
	return Kind(max(kind, 0)), kind >= 0
}

// Compare sorts choices as they stand in a text.
func Compare(a, b Address) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node), cmp.Compare(a.To, b.To), cmp.Compare(a.Number, b.Number))
}

// Line is the line of a choice.
func (c Address) Line(v Value) string {
	name := names[c.Kind]
	switch {
	case c.Kind == Torn:
		return fmt.Sprintf("%s n%d #%d %d", name, c.Node, c.Number, v.First)
	case !c.Kind.OfLink():
		return fmt.Sprintf("%s n%d #%d %v", name, c.Node, c.Number, time.Duration(v.First))
	}
	line := fmt.Sprintf("%s n%d>n%d #%d", name, c.Node, c.To, c.Number)
	if v.First == Lost {
		line += " lost"
	} else {
		line += " " + time.Duration(v.First).String()
	}
	if v.Second != 0 {
		line += " again " + time.Duration(v.Second).String()
	}
	return line
}

// Read reads what follows the kind of a choice.
func Read(w *text.Words, kind Kind) (c Address, v Value) {
	c.Kind = kind
	if kind.OfLink() {
		l := w.Link()
		c.Node, c.To = uint8(l[0]), uint8(l[1])
	} else {
		c.Node = uint8(w.Node())
	}
	digits, ok := strings.CutPrefix(w.Next(), "#")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || n == 0 {
		w.Fail("%q is no number such as #17", digits)
	}
	c.Number = uint32(n)
	switch {
	case kind == Torn:
		v.First = w.Number()
	case kind.OfLink() && w.Has("lost"):
		v.First = Lost
	default:
		v.First = int64(w.Duration())
	}
	if kind.OfLink() && w.Has("again") {
		v.Second = int64(w.Duration())
	}
	return c, v
}
