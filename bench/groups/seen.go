// What is seen of the groups from outside: which leader each member knows and since when, and how
// much was sent and saved.

package groups

import (
	"context"
	"sync/atomic"
	"time"
)

// Seen is what is seen of groups. The hosts write it, and one goroutine reads it.
type Seen struct {
	known [Hosts][]atomic.Int64 // by host, then by group: see fact
	dead  int                   // the host that is dead; nobody: none is
	died  time.Duration

	Messages atomic.Uint64 // sent by living hosts, beats included
	Beats    atomic.Uint64 // of these, those between nodes
	Syncs    atomic.Uint64 // batches of records that were saved
	Records  atomic.Uint64
}

const nobody = -1

// NewSeen returns what is seen of a number of groups that have not started.
func NewSeen(groups int) *Seen {
	s := &Seen{dead: nobody}
	for i := range s.known {
		s.known[i] = make([]atomic.Int64, groups)
	}
	return s
}

// fact is the leader that a member knows, and when it learned that. The zero value is nobody.
func fact(leader int, since time.Duration) int64 { return int64(since)<<2 | int64(leader+1) }

func leaderOf(fact int64) int          { return int(fact&3) - 1 }
func sinceOf(fact int64) time.Duration { return time.Duration(fact >> 2) }

// Learn notes the leader that the member of a group at a host knows; -1: none.
func (s *Seen) Learn(host, group, leader int, now time.Duration) {
	if known := &s.known[host][group]; leaderOf(known.Load()) != leader {
		known.Store(fact(leader, now))
	}
}

// Bury notes the death of a host.
func (s *Seen) Bury(host int, now time.Duration) { s.dead, s.died = host, now }

// leader returns the leader that all living hosts know for a group, if it is alive, too, and since when.
func (s *Seen) leader(group int) (leader int, since time.Duration) {
	leader = nobody
	for host := range Hosts {
		if host == s.dead {
			continue
		}
		known := s.known[host][group].Load()
		switch led := leaderOf(known); {
		case led == nobody, led == s.dead, leader != nobody && led != leader:
			return nobody, 0
		default:
			leader, since = led, max(since, sinceOf(known))
		}
	}
	return leader, since
}

// Await waits until all groups are led.
func (s *Seen) Await(ctx context.Context) error {
	for group := range s.known[0] {
		if err := await(ctx, func() bool { return s.Led(group) }); err != nil {
			return err
		}
	}
	return nil
}

// Led reports whether all living hosts know the same living leader of a group.
func (s *Seen) Led(group int) bool {
	leader, _ := s.leader(group)
	return leader != nobody
}

// recovered returns, for each group that got a leader since the death, how long that took, in seconds.
func (s *Seen) recovered() (took []float64) {
	for group := range s.known[0] {
		if _, since := s.leader(group); since > s.died {
			took = append(took, (since - s.died).Seconds())
		}
	}
	return took
}

// load returns how many groups the most loaded survivor leads, divided by the mean of all.
func (s *Seen) load() float64 {
	var leads [Hosts]int
	for group := range s.known[0] {
		if leader, _ := s.leader(group); leader != nobody {
			leads[leader]++
		}
	}
	most, all := 0, 0
	for _, n := range leads {
		most, all = max(most, n), all+n
	}
	return float64(most*(Hosts-1)) / float64(all)
}

// tally is a copy of the counters.
type tally struct{ messages, beats, syncs, records float64 }

func (s *Seen) tally() tally {
	return tally{float64(s.Messages.Load()), float64(s.Beats.Load()), float64(s.Syncs.Load()), float64(s.Records.Load())}
}

// since returns how much the counters have grown.
func (s *Seen) since(t tally) tally {
	now := s.tally()
	return tally{now.messages - t.messages, now.beats - t.beats, now.syncs - t.syncs, now.records - t.records}
}

// await polls until a condition holds.
func await(ctx context.Context, so func() bool) error {
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
