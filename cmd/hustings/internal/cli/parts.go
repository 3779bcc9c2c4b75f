// The seeds that a report covers. The parts of a campaign add up to the whole only if each
// part is there exactly once.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// part is the share of a campaign that one simulation was asked to play.
type part struct {
	First uint64    `json:"first"`
	Seeds uint64    `json:"seeds,omitempty"` // of all shards together; 0: no end
	Shard shardFlag `json:"shard,omitzero"`  // zero: all of it

	from string // the file that says so
}

// String names the part for people.
func (p *part) String() string {
	text := fmt.Sprintf("the seeds from %d on", p.First)
	if p.Seeds > 0 {
		text = fmt.Sprintf("the seeds %d to %d", p.First, p.last())
	}
	if p.Shard.count > 0 {
		text = fmt.Sprintf("shard %s of %s", p.Shard.String(), text)
	}
	return text
}

// last is the last seed of all shards together.
func (p *part) last() uint64 {
	if p.Seeds == 0 || p.Seeds-1 > math.MaxUint64-p.First {
		return math.MaxUint64
	}
	return p.First + p.Seeds - 1
}

// whole returns the seeds that the part is a share of. All shards of one division have
// the same whole.
func (p part) whole() part {
	p.Shard.index, p.from = 0, ""
	return p
}

// overlaps reports whether a seed is in both parts. Two different divisions of the same
// seeds overlap, because every shard of each must be there.
func (p *part) overlaps(o *part) bool {
	if p.whole() == o.whole() {
		return p.Shard.index == o.Shard.index
	}
	return p.First <= o.last() && o.First <= p.last()
}

// enter adds a part to all, unless it has a seed that is already in one of them.
func enter(all []part, p part) ([]part, error) {
	for i := range all {
		if old := &all[i]; p.overlaps(old) {
			return nil, fmt.Errorf("it covers %v, and %s covers %v: no seed may count twice", &p, old.from, old)
		}
	}
	return append(all, p), nil
}

// joined puts shards together. A shard that is missing is an error.
func joined(all []part) (wholes []part, err error) {
	shards := map[part][]uint64{}
	for i := range all {
		whole := all[i].whole()
		if shards[whole] == nil {
			wholes = append(wholes, whole)
		}
		shards[whole] = append(shards[whole], all[i].Shard.index)
	}
	for i := range wholes {
		whole := &wholes[i]
		if missing := absent(whole.Shard.count, shards[*whole]); len(missing) > 0 {
			err = errors.Join(err, fmt.Errorf("only %d of %d shards are there; missing: %s", len(shards[*whole]), whole.Shard.count, strings.Join(missing, ", ")))
		}
		whole.Shard = shardFlag{}
	}
	slices.SortFunc(wholes, func(a, b part) int { return cmp.Compare(a.First, b.First) })
	return wholes, err
}

// absent names the missing ones of count shards, at most ten of them.
func absent(count uint64, there []uint64) (names []string) {
	for i := uint64(0); i < count && len(names) <= 10; i++ {
		switch {
		case slices.Contains(there, i):
		case len(names) == 10:
			names = append(names, "and more")
		default:
			names = append(names, (&shardFlag{i, count}).String())
		}
	}
	return names
}
