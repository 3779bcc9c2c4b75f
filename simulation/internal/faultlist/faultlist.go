// Package faultlist reads and writes lists of faults, for all worlds.
package faultlist

import (
	"fmt"
	"strings"
)

// Word is a name, and what it stands for: a bit for each fault.
type Word struct {
	Name string
	Set  uint64
}

// Words are those that a list may have: first "all", then larger sets before smaller
// ones.
type Words []Word

// Parse reads a list, separated by commas. The word "none" stands for no fault; what
// is written with a minus is taken out again, from the first word of all if nothing
// comes before.
func (w Words) Parse(list string) (set uint64, err error) {
	for i, word := range strings.Split(list, ",") {
		word, minus := strings.CutPrefix(strings.TrimSpace(word), "-")
		named, err := w.find(word)
		switch {
		case err != nil:
			return 0, err
		case minus && i == 0:
			set = w[0].Set &^ named
		case minus:
			set &^= named
		default:
			set |= named
		}
	}
	return set, nil
}

func (w Words) find(name string) (uint64, error) {
	names := make([]string, 0, len(w))
	for _, word := range w {
		if word.Name == name {
			return word.Set, nil
		}
		names = append(names, word.Name)
	}
	if name == "none" {
		return 0, nil
	}
	return 0, fmt.Errorf("simulation: no fault is called %q; there are none, %s", name, strings.Join(names, ", "))
}

// Text is a list that Parse reads.
func (w Words) Text(set uint64) string {
	var words []string
	for _, word := range w[1:] {
		if word.Set != 0 && set&word.Set == word.Set {
			words = append(words, word.Name)
			set &^= word.Set
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}
