// Package faultlist reads and writes lists of faults, for all worlds.
package faultlist

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of faults, a bit for each. As an option the zero Set stands for the usual faults, so
// one that was chosen has a bit of its own, even if it is empty.
type Set [2]uint64

// chosen is the place of that bit.
const chosen = 127

// None is the set without faults.
func None() Set { return Set{}.With(chosen) }

// Has says whether a fault is in the set.
func (s Set) Has(fault uint8) bool { return s[fault/64]>>(fault%64)&1 == 1 }

// With is the set and one fault more.
func (s Set) With(fault uint8) Set {
	s[fault/64] |= 1 << (fault % 64)
	return s
}

// Below says whether the set has only faults below this number.
func (s Set) Below(count uint8) bool {
	for f := count; f < chosen; f++ {
		if s.Has(f) {
			return false
		}
	}
	return true
}

func (s Set) or(o Set) Set      { return Set{s[0] | o[0], s[1] | o[1]} }
func (s Set) without(o Set) Set { return Set{s[0] &^ o[0], s[1] &^ o[1]} }

// Class is the origin of a fault.
type Class interface {
	~uint8
	fmt.Stringer
}

// Fault is a fault; a world has fewer than 127.
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
func (k *Catalogue[F, C]) Of(all ...C) Set {
	set := None()
	for f := range k.Faults {
		if slices.Contains(all, f.Class()) {
			set = set.With(uint8(f))
		}
	}
	return set
}

// Parse reads a list of faults and classes, separated by commas. The word "all" stands for
// the usual ones and "none" for no fault; a word with a minus removes its faults.
func (k *Catalogue[F, C]) Parse(list string) (Set, error) {
	set, err := k.words().Parse(list)
	if err != nil {
		return Set{}, err
	}
	return set.or(None()), nil
}

// Text is a list that Parse reads.
func (k *Catalogue[F, C]) Text(set Set) string { return k.words().Text(set) }

func (k *Catalogue[F, C]) words() Words {
	all := Words{{Name: "all", Set: k.Of(k.Usual...).without(None())}}
	for c := range k.Classes {
		all = append(all, Word{Name: c.String(), Set: k.Of(c).without(None())})
	}
	for f := range k.Faults {
		all = append(all, Word{Name: f.String(), Set: Set{}.With(uint8(f))})
	}
	return all
}

// Word is a name, and its faults.
type Word struct {
	Name string
	Set  Set
}

// Words are the words that a list may have: first "all", then larger sets before smaller ones.
type Words []Word

// Parse reads a list, separated by commas. The word "none" stands for no fault. A word
// with a minus removes its faults; at the beginning of the list, it removes them from "all".
func (w Words) Parse(list string) (set Set, err error) {
	for i, word := range strings.Split(list, ",") {
		word, minus := strings.CutPrefix(strings.TrimSpace(word), "-")
		named, err := w.find(word)
		switch {
		case err != nil:
			return Set{}, err
		case minus && i == 0:
			set = w[0].Set.without(named)
		case minus:
			set = set.without(named)
		default:
			set = set.or(named)
		}
	}
	return set, nil
}

func (w Words) find(name string) (Set, error) {
	names := make([]string, 0, len(w))
	for _, word := range w {
		if word.Name == name {
			return word.Set, nil
		}
		names = append(names, word.Name)
	}
	if name == "none" {
		return Set{}, nil
	}
	return Set{}, fmt.Errorf("simulation: no fault is called %q; there are none, %s", name, strings.Join(names, ", "))
}

// Text is a list that Parse reads.
func (w Words) Text(set Set) string {
	var words []string
	for _, word := range w[1:] {
		if word.Set != (Set{}) && word.Set.without(set) == (Set{}) {
			words = append(words, word.Name)
			set = set.without(word.Set)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}
