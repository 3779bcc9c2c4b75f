// Package faultlist reads and writes lists of faults, for all worlds.
package faultlist

import (
	"fmt"
	"slices"
	"strings"
)

// None is the set without faults. As an option, 0 stands for the usual faults, so this set has a bit
// of its own.
const None = 1 << 63

// Class is the origin of a fault.
type Class interface {
	~uint8
	fmt.Stringer
}

// Fault is a fault; a world has fewer than 63.
type Fault[C Class] interface {
	~uint8
	fmt.Stringer
	Class() C
}

// Catalogue has the faults of a world: how many there are, of how many classes, and the classes that
// strike by default.
type Catalogue[F Fault[C], C Class] struct {
	Faults  F
	Classes C
	Usual   []C
}

// Of is the set of all faults of some classes.
func (k *Catalogue[F, C]) Of(all ...C) uint64 {
	set := uint64(None)
	for f := range k.Faults {
		if slices.Contains(all, f.Class()) {
			set |= 1 << f
		}
	}
	return set
}

// Parse reads a list of faults and classes, separated by commas. The word "all" stands for
// the usual ones and "none" for no fault; a word with a minus removes its faults.
func (k *Catalogue[F, C]) Parse(list string) (uint64, error) {
	set, err := k.words().Parse(list)
	if err != nil {
		return 0, err
	}
	return set | None, nil
}

// Text is a list that Parse reads.
func (k *Catalogue[F, C]) Text(set uint64) string { return k.words().Text(set) }

func (k *Catalogue[F, C]) words() Words {
	all := Words{{Name: "all", Set: k.Of(k.Usual...) &^ None}}
	for c := range k.Classes {
		all = append(all, Word{Name: c.String(), Set: k.Of(c) &^ None})
	}
	for f := range k.Faults {
		all = append(all, Word{Name: f.String(), Set: 1 << f})
	}
	return all
}

// Word is a name, and its faults: a bit for each.
type Word struct {
	Name string
	Set  uint64
}

// Words are the words that a list may have: first "all", then larger sets before smaller ones.
type Words []Word

// Parse reads a list, separated by commas. The word "none" stands for no fault. A word
// with a minus removes its faults; at the beginning of the list, it removes them from "all".
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
