// Shrinking makes a scenario as small as possible while it still breaks the same invariant.

package simulation

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/search"
	"github.com/hustings/hustings/simulation/invariant"
)

// Shrink removes from a scenario that breaks an invariant everything that is not needed for that:
// faults, members, time, and choices; until nothing more can be removed, or the context ends. The
// result breaks the same invariant, in the same way whenever it is played. progress, if not nil, is
// called after every run with the number of runs, and of the faults and choices that are left. A
// scenario that breaks nothing is returned as it is.
func (s *Scenario) Shrink(ctx context.Context, progress func(runs, left int)) *Scenario {
	x := shrinker{ctx: ctx, progress: progress, best: s.unlined()}
	r, err := x.best.Run()
	if err != nil || r.Violation == nil {
		return x.best
	}
	x.invariant = r.Violation.Invariant
	x.cut(r)
	if x.best.origin != nil {
		x.fewerGroups(func(s *Scenario) bool { return x.tryByChance(s, chances+16*chances/s.Groups) }) // runs of few groups are fast
	}
	for left := -1; left != len(x.best.Strikes) && x.best.origin != nil && ctx.Err() == nil; {
		left = len(x.best.Strikes)
		x.fewerStrikesByChance()
		x.soonerByChance()
	}
	for size := -1; size != x.size() && ctx.Err() == nil; {
		size = x.size()
		x.fewerStrikes()
		x.fewerChoices()
		x.plainer()
		x.fewerGroups(x.try)
		x.fewerMembers()
		x.shorter()
		x.rounder()
	}
	x.best.Expect = []Expectation{breaks(x.invariant)}
	x.best.forget()
	return x.best
}

// unlined is a copy without the lines of a text.
func (s *Scenario) unlined() *Scenario {
	c := s.clone()
	c.lines = nil
	for i := range c.Strikes {
		c.Strikes[i].line = 0
	}
	return c
}

// forget drops the choices that a run of the scenario does not make any more.
func (s *Scenario) forget() {
	w, err := s.world()
	if err != nil {
		return
	}
	s.play(w)
	maps.DeleteFunc(s.choices, func(c choice.Address, _ choice.Value) bool {
		return c.Number > w.choices.Stream(c.Kind, c.Node, c.To).Count
	})
}

type shrinker struct {
	ctx       context.Context
	progress  func(runs, left int)
	best      *Scenario
	invariant invariant.Invariant
	runs      int
}

// size is what Shrink makes small.
func (x *shrinker) size() int {
	size := len(x.best.Strikes) + len(x.best.choices) + x.best.Members + x.best.Groups
	for i := range x.best.Strikes {
		size += digits(x.best.Strikes[i].At) + digits(x.best.Strikes[i].Lasts)
	}
	return size
}

// digits counts the digits of a time, without the zeros at its end.
func digits(d time.Duration) (n int) {
	for d != 0 && d%10 == 0 {
		d /= 10
	}
	for ; d != 0; d /= 10 {
		n++
	}
	return n
}

// try plays a smaller scenario, and keeps it if it breaks the same invariant. A
// scenario that could not be read again is refused, for example if the healed nodes are no quorum.
func (x *shrinker) try(s *Scenario) bool {
	if x.ctx.Err() != nil || s.check() != nil {
		return false
	}
	x.runs++
	r, err := s.Run()
	if err != nil || r.Violation == nil || r.Violation.Invariant != x.invariant {
		return false
	}
	x.best = s
	x.cut(r)
	if x.progress != nil {
		x.progress(x.runs, len(s.Strikes)+len(s.choices))
	}
	return true
}

// cut removes what comes after the violation. If the violation came before the healing, no node needs
// to be healed.
func (x *shrinker) cut(r Result) {
	s, at := x.best, r.Violation.At
	if at <= s.Duration {
		s.Duration, s.Heal = max(at, 1), nil
	}
	s.Strikes = slices.DeleteFunc(s.Strikes, func(k Strike) bool { return k.At > at })
}

// chances is how many worlds a set of strikes is tried in. They differ by chance only.
const chances = 100

// fewerStrikesByChance looks for few strikes that are enough with other choices. Without a strike the
// run is another one from there on, in which the recorded choices rarely break the invariant, but
// often others do.
func (x *shrinker) fewerStrikesByChance() {
	search.Minimize(x.best.Strikes, func(left []Strike) bool { return x.tryByChance(x.best.with(left), chances) })
}

// soonerByChance closes the gaps between strikes. The shorter a run is, the more
// often it can be tried, so the shortest is tried first.
func (x *shrinker) soonerByChance() {
	for i := 0; i < len(x.best.Strikes); i++ {
		for _, part := range []time.Duration{32, 8, 2} {
			left := slices.Clone(x.best.Strikes)
			gap := left[i].At
			if i > 0 {
				gap -= left[i-1].At
			}
			if gap < 2*x.best.Timing.Detection() {
				break
			}
			for j := i; j < len(left); j++ {
				left[j].At -= (gap - gap/part).Round(time.Millisecond)
			}
			if x.tryByChance(x.best.with(left), chances*int(part)) {
				i-- // the gap may become even smaller
				break
			}
		}
	}
}

// tryByChance tries the strikes of a smaller scenario in many worlds.
func (x *shrinker) tryByChance(smaller *Scenario, times int) bool {
	for k := range uint64(times) {
		if x.ctx.Err() != nil {
			return false
		}
		x.runs++
		if s := x.byChance(smaller, k); s != nil && x.try(s) {
			return true
		}
	}
	return false
}

// byChance plays the strikes of a scenario with choices that are drawn, and returns a record of the
// run if it breaks the invariant.
func (x *shrinker) byChance(smaller *Scenario, k uint64) *Scenario {
	s, origin := smaller.clone(), *smaller.origin
	s.Options = origin
	if s.Heal == nil { // it may take a little longer with other choices
		s.Duration = smaller.Duration
		if strikes := s.Strikes; len(strikes) > 0 {
			s.Duration = strikes[len(strikes)-1].At + 10*x.best.Timing.Detection()
		}
	}
	w := newWorld(s.Options)
	w.drawEnvironment(origin.Seed)
	w.choices.Reseed(origin.Seed + k)
	w.swarm.striking = nil
	w.record()
	s.plan(w)
	w.begin()
	if r := w.play(nil); r.Violation == nil || r.Violation.Invariant != x.invariant {
		return nil
	}
	recorded := w.recorded()
	recorded.origin = smaller.origin
	return recorded
}

func (x *shrinker) fewerStrikes() {
	search.Minimize(x.best.Strikes, func(left []Strike) bool { return x.try(x.best.with(left)) })
}

// with is the scenario with other strikes.
func (s *Scenario) with(strikes []Strike) *Scenario {
	c := s.clone()
	c.Strikes = strikes
	return c
}

// fewerChoices removes choices, which then have their normal values.
func (x *shrinker) fewerChoices() {
	all := slices.SortedFunc(maps.Keys(x.best.choices), choice.Compare)
	search.Minimize(all, func(left []choice.Address) bool {
		s := x.best.clone()
		s.choices = make(map[choice.Address]choice.Value, len(left))
		for _, c := range left {
			s.choices[c] = x.best.choices[c]
		}
		return x.try(s)
	})
}

// plainer sets the options to their usual values, one by one.
func (x *shrinker) plainer() {
	for _, plain := range []func(o *Options){
		func(o *Options) { o.Term = 0 },
		func(o *Options) { o.Counters = 0 },
		func(o *Options) { o.Observers = 0 },
		func(o *Options) { o.Preferred = 0 },
		func(o *Options) { o.Vouch, o.Asked = 0, false },
		func(o *Options) { o.Asked = false },
		func(o *Options) { o.Judged = false },
		func(o *Options) { o.Beats = false },
		func(o *Options) { o.Campaigns = 0 },
		func(o *Options) { o.Uneven = 0 },
		func(o *Options) { o.Leases = false },
		func(o *Options) { o.NoPreVote = false },
		func(o *Options) { o.NoRanks = false },
		func(o *Options) { o.Timing = elector.DefaultTiming() },
		func(o *Options) { o.Timing.Leak = elector.DefaultTiming().Leak },
	} {
		s := x.best.clone()
		if plain(&s.Options); !reflect.DeepEqual(s.Options, x.best.Options) {
			x.try(s)
		}
	}
}

// fewerGroups removes groups, as long as the rest is still good.
func (x *shrinker) fewerGroups(good func(*Scenario) bool) {
	if from := x.best; from.Groups > 1 {
		search.Minimize(allBelow(from.Groups), func(left []int) bool { return len(left) > 0 && good(from.withGroups(left)) })
	}
}

// withGroups is the scenario with only some of its groups, which get new numbers. Its expectations
// are removed.
func (s *Scenario) withGroups(left []int) *Scenario {
	c := s.clone()
	c.Groups, c.Strikes, c.Expect = len(left), nil, nil
	if s.origin != nil {
		origin := *s.origin
		origin.Groups = c.Groups
		c.origin = &origin
	}
	for _, k := range s.Strikes {
		switch {
		case !k.Fault.is(perGroup):
		case k.Group != EveryGroup:
			if k.Group = slices.Index(left, k.Group); k.Group < 0 {
				continue
			}
		case c.Groups == 1:
			k.Group = 0
		}
		c.Strikes = append(c.Strikes, k)
	}
	return c
}

// fewerMembers removes members, one by one.
func (x *shrinker) fewerMembers() {
	for out := x.best.Members - 1; out >= 0 && x.best.Members > 1; out-- {
		x.try(x.best.withoutMember(out))
	}
}

// withoutMember is the scenario without one member. Those after it get new numbers.
func (s *Scenario) withoutMember(out int) *Scenario {
	moved := func(i int) int {
		if i > out {
			return i - 1
		}
		return i
	}
	c := s.clone()
	c.Members--
	c.Preferred = min(c.Preferred, c.Members)
	c.Strikes, c.choices, c.Heal = nil, map[choice.Address]choice.Value{}, nil
	for _, k := range s.Strikes {
		if k.Node == out || k.Other == out {
			continue
		}
		k.Node, k.Other = moved(k.Node), moved(k.Other)
		var links [][2]int
		for _, l := range k.Links {
			if l[0] != out && l[1] != out {
				links = append(links, [2]int{moved(l[0]), moved(l[1])})
			}
		}
		if k.Fault == Prefer {
			k.Count &= 1<<c.Members - 1
		}
		if k.Links = links; links != nil || !k.Fault.is(cutsLinks) {
			c.Strikes = append(c.Strikes, k)
		}
	}
	for at, v := range s.choices {
		if int(at.Node) != out && (!at.Kind.OfLink() || int(at.To) != out) {
			at.Node, at.To = uint8(moved(int(at.Node))), uint8(moved(int(at.To)))
			c.choices[at] = v
		}
	}
	for _, i := range s.Heal {
		if i != out {
			c.Heal = append(c.Heal, moved(i))
		}
	}
	return c
}

// shorter makes strikes last less long, and cut fewer links.
func (x *shrinker) shorter() {
	for i := range x.best.Strikes {
		for i < len(x.best.Strikes) && x.best.Strikes[i].Lasts > 0 && x.changed(i, func(k *Strike) { k.Lasts /= 2 }) {
			continue
		}
		if i < len(x.best.Strikes) && x.best.Strikes[i].Fault.is(cutsLinks) {
			search.Minimize(x.best.Strikes[i].Links, func(left [][2]int) bool {
				return len(left) > 0 && x.changed(i, func(k *Strike) { k.Links = left })
			})
		}
	}
}

// rounder rounds times.
func (x *shrinker) rounder() {
	for _, delay := range []time.Duration{0, x.best.Delay.Round(time.Millisecond), x.best.Delay.Round(100 * time.Microsecond)} {
		if s := x.best.clone(); s.Delay != delay && x.best.Delay != 0 {
			s.Delay = delay
			x.try(s)
		}
	}
	for _, unit := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		for i := range x.best.Strikes {
			x.changed(i, func(k *Strike) { k.At = rounded(k.At, unit) })
			x.changed(i, func(k *Strike) { k.Lasts = rounded(k.Lasts, unit) })
		}
		for _, c := range slices.SortedFunc(maps.Keys(x.best.choices), choice.Compare) {
			v := x.best.choices[c]
			round := choice.Value{First: int64(rounded(time.Duration(v.First), unit)), Second: int64(rounded(time.Duration(v.Second), unit))}
			if c.Kind == choice.Torn || v.First == choice.Lost || v == round {
				continue
			}
			s := x.best.clone()
			s.choices[c] = round
			x.try(s)
		}
	}
}

// rounded rounds a time, but not to 0.
func rounded(d, unit time.Duration) time.Duration {
	if r := d.Round(unit); r != 0 {
		return r
	}
	return d
}

// changed tries the scenario with one strike changed, unless the change has no effect.
func (x *shrinker) changed(i int, change func(*Strike)) bool {
	if i >= len(x.best.Strikes) {
		return false
	}
	s := x.best.clone()
	change(&s.Strikes[i])
	if before, now := &x.best.Strikes[i], &s.Strikes[i]; before.At == now.At && before.Lasts == now.Lasts && len(before.Links) == len(now.Links) {
		return false
	}
	slices.SortStableFunc(s.Strikes, func(a, b Strike) int { return int(a.At - b.At) })
	return x.try(s)
}
