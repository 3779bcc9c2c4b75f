// Trouble twice within one operation: whatever the first two calls of a kind suffer, the candidate serves again
// soon, and nothing is left of them.

package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// misfortune is what happens to a call.
type misfortune string

const (
	silent misfortune = "silence"      // it is not carried out, and ends long after it was given up
	failed misfortune = "error"        // it is not carried out
	late   misfortune = "late answer"  // it is carried out, and answered when it has been given up
	still  misfortune = "a standstill" // it is carried out, and the process stands still then
)

// operation is a kind of call that suffers, of the database or of the service.
type operation string

// operations are the calls of the store and the waker, in the order of their kinds, and those of the service.
var operations = []operation{"read", "acquire", "renew", "release", "wake", "listen", "health", "judge"}

// struck is a candidate for one lease whose calls of one kind suffer twice. The database and the service answer all
// others after a millisecond. Its leader resigns once in a while, and is alone.
type struck struct {
	desk
	k       *Keeper
	now     time.Duration
	next    time.Duration
	suffers operation
	with    []misfortune // still to come
	coming  []coming
	stands  time.Duration // until when the process stands still
	over    time.Duration // when the last misfortune was

	record Record
	until  time.Duration
	begun  int // offices
	ended  int
}

// coming is an input that is on its way.
type coming struct {
	at time.Duration
	in Input
}

func (s *struck) in(wait time.Duration, in Input) {
	s.coming = append(s.coming, coming{s.now + wait, in})
}

// suffer sends the result of a call: what happens if it goes well, or fails. A call that is not carried out does
// nothing.
func (s *struck) suffer(of operation, patience time.Duration, well func() Input, fails Input) {
	if of != s.suffers || len(s.with) == 0 {
		s.in(time.Millisecond, well())
		return
	}
	what := s.with[0]
	s.with = s.with[1:]
	s.over = s.now
	switch what {
	case silent:
		s.over += patience + 2*timing.TTL
		s.in(patience+2*timing.TTL, fails)
	case failed:
		s.in(time.Millisecond, fails)
	case late:
		s.over += patience + patience/8
		s.in(patience+patience/8, well())
	case still:
		s.stands = s.now + timing.TTL*3/4
		s.over = s.stands
		s.in(time.Millisecond, well())
	}
}

func (s *struck) Call(c *Call) {
	answer := *c
	patience := c.Timeout
	if c.Kind == Listen {
		if s.suffers != "listen" || len(s.with) == 0 {
			return // it goes on
		}
		patience = timing.Poll
	}
	s.suffer(operations[c.Kind], patience, func() Input { return s.execute(&answer) }, &Answer{Number: c.Number, Err: assert.AnError})
}

func (s *struck) execute(c *Call) *Answer {
	answer, r := &Answer{Number: c.Number}, &s.record
	switch held := r.Holder != "" && s.now < s.until; c.Kind {
	case Read:
		found := *r
		found.Left = s.until - s.now
		answer.Records = []Record{found}
	case Acquire:
		if answer.Won = c.Claim.Term == r.Term; answer.Won {
			*r, s.until = Record{Name: "g", Term: r.Term + 1, Holder: c.Claim.Holder, TTL: timing.TTL}, s.now+timing.TTL
		}
	case Renew:
		if held && r.Term == c.Held[0].Term {
			r.Renewals++
			answer.Kept, s.until = []string{"g"}, s.now+timing.TTL
		}
	case Release:
		if r.Term == c.Held[0].Term {
			r.Holder, r.Released, s.until = "", true, s.now
		}
	case Wake:
	case Listen:
		answer.Err = assert.AnError // it ends, however
	}
	return answer
}

func (s *struck) AskHealth(name string) bool {
	s.suffer("health", timing.TTL, func() Input { return Health{Name: name} }, Health{Name: name, Err: assert.AnError})
	return true
}

func (s *struck) AskStalled(time.Duration) bool {
	s.suffer("judge", timing.TTL, func() Input { return Stalled{} }, Stalled{Names: []string{"g"}})
	return true
}

func (s *struck) Lead(string, memberstate.Term)          { s.begun++ }
func (s *struck) Vacate(string, memberstate.Term, error) { s.ended++ }
func (s *struck) Withdraw(name string, _ memberstate.Term) {
	s.in(time.Millisecond, Returned{Name: name})
}

// pass lets time pass until something holds, for at most so long, and says whether it does.
func (s *struck) pass(most time.Duration, until func() bool) bool {
	for end := s.now + most; s.now < end; s.now += time.Millisecond {
		if s.now < s.stands {
			continue
		}
		var rest []coming
		due := s.coming
		s.coming = nil
		for _, c := range due {
			if s.now < max(c.at, s.stands) { // it may stand still again
				rest = append(rest, c)
				continue
			}
			s.next = s.k.Step(s.now, c.in, s)
		}
		s.coming = append(s.coming, rest...)
		if s.now >= s.next && s.now >= s.stands {
			s.next = s.k.Step(s.now, Tick{}, s)
		}
		if until() {
			return true
		}
	}
	return false
}

// strikes has both misfortunes come. Its leader resigns again and again meanwhile, so that all kinds of calls are made.
func (s *struck) strikes(t *testing.T) {
	t.Helper()
	for range 30 {
		if s.pass(2*timing.Renew, func() bool { return len(s.with) == 0 }) {
			break
		}
		s.next = s.k.Step(s.now, Resign{Name: "g"}, s)
	}
	require.Empty(t, s.with, "it strikes twice")
}

// recovers demands that the candidate leads soon after the last misfortune, and serves as before it.
func (s *struck) recovers(t *testing.T) {
	t.Helper()
	s.pass(s.over-s.now, func() bool { return false })
	// It may have to wait until its own lease has expired, to stand back, and to be the last choice.
	within := timing.validity() + timing.DriftMargin + 2*timing.Poll + timing.lastChoice() + timing.Poll
	view := &s.k.sessions[0].view
	assert.True(t, s.pass(within, func() bool { return view.Role == memberstate.Leader }), "it leads within %v", within)
	holds := (shortestHold + 2*shortestHold) * timing.TTL
	assert.True(t, s.pass(holds, func() bool { return view.Inability == voting.Able }), "it is able within %v", holds)
	assert.True(t, s.pass(within, func() bool { return view.Role == memberstate.Leader }), "it leads on")
	led := s.begun
	assert.False(t, s.pass(4*timing.TTL, func() bool { return s.begun != led || view.Role != memberstate.Leader }), "it leads for good")
	assert.Equal(t, s.begun-1, s.ended, "one end for every office")
	assert.True(t, s.pass(timing.Renew, func() bool { return s.k.Holdings() == Holdings{} }), "it is quiet, and holds %+v", s.k.Holdings())
	assert.Equal(t, 1, s.k.calls.lanes[Listen].underWay, "it listens")
	s.resigns(t)
}

// resigns demands that the candidate can be asked for anything once more, and takes no longer than without misfortunes.
func (s *struck) resigns(t *testing.T) {
	t.Helper()
	s.next = s.k.Step(s.now, Resign{Name: "g"}, s)
	assert.True(t, s.pass(4*time.Millisecond, func() bool { return s.begun == s.ended }), "the office is over when its lease is released")
	assert.True(t, s.pass(3*timing.Poll+3*time.Millisecond, func() bool { return s.begun > s.ended }), "it stands back for two polls only")
	s.next = s.k.Step(s.now, Retire{Name: "g"}, s)
	assert.True(t, s.pass(timing.Renew, func() bool { return len(s.k.sessions) == 0 }), "it ends")
	assert.Zero(t, s.k.Holdings())
}

func TestTroubleThatComesTwiceWithinOneOperationIsOverSoonAndLeavesNothing(t *testing.T) {
	troubles := []misfortune{silent, failed, late, still}
	for _, of := range operations {
		for _, first := range troubles {
			for _, second := range troubles {
				t.Run(fmt.Sprintf("%s, %s and %s", of, first, second), func(t *testing.T) {
					t.Parallel()
					s := &struck{now: time.Hour, record: Record{Name: "g", Released: true}, suffers: of, with: []misfortune{first, second}}
					s.random = rand.New(rand.NewPCG(1, 1))
					s.k = NewKeeper(Rules{ID: "a#1", Self: "a", Wakes: true, Timing: timing, Limits: DefaultLimits()})
					s.next = s.k.Step(s.now, Enter{Name: "g", Vouch: timing.TTL}, s)
					s.strikes(t)
					s.recovers(t)
				})
			}
		}
	}
}

// A candidate whose releases all fail holds nothing up for longer than its lease lasts: alone, it leads again when
// it has stood back for two polls, however often it has seen its old lease meanwhile.
func TestACandidateThatCouldNotReleaseItsLeaseLeadsAgainSoonAfterItsEnd(t *testing.T) {
	s := &struck{now: time.Hour, record: Record{Name: "g", Released: true}, suffers: "release"}
	s.random = rand.New(rand.NewPCG(1, 1))
	s.k = NewKeeper(Rules{ID: "a#1", Self: "a", Timing: timing, Limits: DefaultLimits()})
	s.next = s.k.Step(s.now, Enter{Name: "g", Vouch: timing.TTL}, s)
	for range 2 {
		require.True(t, s.pass(time.Minute, func() bool { return s.begun > s.ended }))
		s.with = slices.Repeat([]misfortune{failed}, 100)
		s.next = s.k.Step(s.now, Resign{Name: "g"}, s)
		require.False(t, s.pass(s.until-s.now, func() bool { return s.begun > s.ended+1 }))
		assert.True(t, s.pass(3*timing.Poll+4*time.Millisecond, func() bool { return s.begun > s.ended }), "it leads soon")
		s.with = nil
		s.pass(2*timing.TTL, func() bool { return false })
	}
}
