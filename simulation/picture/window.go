// This file finds the time that matters: around the violation, or else around the first election.

package picture

import (
	"time"

	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// window is a part of the run, and the moment at which its cursor stands.
type window struct {
	from, to time.Duration
	cursor   int // a place in Trace.Moments; -1 if there are none
}

const (
	// longestPast is the longest time before a violation that the page opens with, because a
	// longer one would be too small to read.
	longestPast = 900 * time.Millisecond
	// shortest is the shortest time that the page opens with.
	shortest = 120 * time.Millisecond
)

func windowThatMatters(t *trace.Trace, lanes [][]span) window {
	if len(t.Moments) == 0 {
		return window{0, max(t.End, shortest), -1}
	}
	if v := t.Violation; v != nil {
		return aroundViolation(t, v)
	}
	return aroundElection(t, lanes)
}

func aroundViolation(t *trace.Trace, v *invariant.Violation) window {
	from, cursor := v.At, 0
	for i := range t.Moments {
		m := &t.Moments[i]
		if m.At > v.At {
			break
		}
		if m.Past && m.At >= v.At-longestPast && m.At < from {
			from = m.At
		}
		if m.Node == v.Node || m.Kind == trace.Violated {
			cursor = i
		}
	}
	w := padded(t, from, v.At, cursor)
	w.to += (w.to - w.from) / 8 // the violation's name needs the room
	return w
}

// aroundElection is the window from the first request for votes to the first leader.
func aroundElection(t *trace.Trace, lanes [][]span) window {
	asked, won := time.Duration(-1), time.Duration(-1)
	for _, lane := range lanes {
		for i := range lane {
			s := &lane[i]
			if s.asking != "" && (asked < 0 || s.from < asked) {
				asked = s.from
			}
			if s.leads() && (won < 0 || s.from < won) {
				won = s.from
			}
		}
	}
	if won < 0 {
		return padded(t, t.Moments[0].At, min(t.End, t.Moments[0].At+time.Second), 0)
	}
	if asked < 0 || asked > won || asked < won-longestPast {
		asked = max(won-longestPast, 0)
	}
	cursor := 0
	for cursor < len(t.Moments)-1 && t.Moments[cursor].At < won {
		cursor++
	}
	return padded(t, asked, won, cursor)
}

// padded leaves some room on both sides.
func padded(t *trace.Trace, from, to time.Duration, cursor int) window {
	room := max((to-from)/6, (shortest-(to-from))/2, 10*time.Millisecond)
	w := window{max(from-room, 0), min(to+room, t.End+room/2), cursor}
	w.to = max(w.to, w.from+shortest)
	return w
}
