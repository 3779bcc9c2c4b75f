// When a member sent its newest rounds. Round trips and leases are measured from these times: a
// lease counts from the sending of the heartbeat that a quorum has answered, because the promises
// in those answers can begin no earlier.
//
// Only the newest rounds are kept, and each place is used for an older round and then a newer one.
// So a place alone does not say whose time it holds. A leader that nobody answers any more goes on
// beating, and soon the place of the last answered beat holds the time of an unanswered one. A
// lease extended by that time would outlast every promise that it rests on. Therefore no time is
// looked up without asking first whether the round is still kept.

package protocol

import (
	"time"

	"github.com/hustings/hustings/rpc"
)

// SentTimes remembers when a member sent its newest rounds of heartbeats and of votes,
// by any clock that counts up from more than zero. The zero value remembers none.
type SentTimes struct {
	beats, ballots [recentBeats]time.Duration
	leases         [recentBeats]time.Duration // that each beat asked for
}

// Sends notes that the machine sends a message now. A repeated request for votes keeps the time of
// the first one, because an answer may be to that.
func (s *SentTimes) Sends(m *Machine, q *Message, now time.Duration) {
	switch {
	case q.Kind == rpc.Heartbeat:
		s.beats[q.Round%recentBeats], s.leases[q.Round%recentBeats] = now, q.Lease
	case q.Kind == rpc.VoteRequest && !m.Repeats():
		s.ballots[q.Round%recentBeats] = now
	}
}

// RoundTrip is how long ago the request of an answer was sent; zero if the message is no answer, or
// if the time is not known. Where round trips are far longer than a round of votes, every answer is
// to a round that is not kept any more. Such an answer is reported with the age of the oldest round
// that is kept, which is too short but not zero: otherwise rounds would never be made long enough
// for their answers (D6).
func (s *SentTimes) RoundTrip(m *Machine, answer *rpc.Body, now time.Duration) time.Duration {
	at, known := time.Duration(0), false
	switch answer.Kind {
	case rpc.HeartbeatResponse:
		at, known = s.beat(m, answer.Round)
	case rpc.VoteResponse:
		newest := m.Ballot()
		if at, known = kept(&s.ballots, newest, answer.Round); !known && int32(newest-answer.Round) > 0 {
			at = s.ballots[(newest+1)%recentBeats]
			known = at > 0
		}
	default: // requests have no round trip
	}
	if !known {
		return 0
	}
	return now - at
}

// LeaseUntil is until when a quorum has promised to stand by the leader: counted from when the newest
// beat was sent that a quorum has answered with its promise, and for as long as that beat asked for,
// even if the intervals have changed since. It is false if there is no such beat, or if its time is
// not known any more; a lease that is held then ends when it would have ended anyway.
func (s *SentTimes) LeaseUntil(m *Machine, r *Rules, now time.Duration) (time.Duration, bool) {
	switch beat := m.LeaseBeat(); {
	case beat == 0:
		return 0, false
	case r.others() == 0:
		return now + r.Lease, true // a lone voter promises to itself, and no other candidate asks it
	default:
		at, known := s.beat(m, beat)
		if !known {
			return 0, false
		}
		return at + s.leases[beat%recentBeats], true
	}
}

// beat is when a beat was sent, if that is still known.
func (s *SentTimes) beat(m *Machine, number uint32) (at time.Duration, known bool) {
	return kept(&s.beats, m.Beat(), number)
}

// kept looks a round up among the newest ones, the last of which has the number newest.
func kept(times *[recentBeats]time.Duration, newest, number uint32) (at time.Duration, known bool) {
	if newest-number >= recentBeats { // it wraps for a round that has not begun
		return 0, false
	}
	at = times[number%recentBeats]
	return at, at > 0
}
