// Which answers measure the round trip, and how measurements are combined.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// An answer measures the round trip only if its request is known and was sent once.
func TestWhichAnswersAreMeasured(t *testing.T) {
	const long = 12 * time.Millisecond
	for what, c := range map[string]struct {
		change func(m *Machine, q *Message)
		counts bool
	}{
		"the first answer":                       {func(*Machine, *Message) {}, true},
		"a late one":                             {func(_ *Machine, q *Message) { q.Round-- }, true},
		"a second one":                           {func(m *Machine, q *Message) { m.round.answered = m.round.answered.With(q.From) }, false},
		"one that was not asked for":             {func(_ *Machine, q *Message) { q.Mark = rpc.Vouched }, false},
		"a late one, after a round that was won": {func(m *Machine, q *Message) { q.Round--; m.round.mark = rpc.Won }, false},
		"one to a leader":                        {func(m *Machine, _ *Message) { m.Role = memberstate.Leader }, false},
	} {
		a := startedAlone(t)
		a.ring()
		ballot, asked, mark := a.machine.Open()
		q := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyVoted, Mark: mark, Round: ballot, Asked: asked}}
		c.change(&a.machine, &q)
		a.give(Input{Kind: Receive, Message: q, RoundTrip: long})
		assert.Equal(t, c.counts, a.machine.measured() > 0, what)
	}
}

// A leader beats for observers, too, measures how long its voters' answers take, and tells that with the next beat.
func TestALeaderMeasuresTheAnswersToItsBeats(t *testing.T) {
	a := leadingAlone(t, false)
	a.rules.All = a.rules.Voters.With(4)
	a.ring()
	assert.Equal(t, memberstate.SetOf(2, 3, 4), a.out.To)
	answers := func(from memberstate.Seat, took time.Duration) {
		a.give(Input{Kind: Receive, RoundTrip: took, Message: Message{From: from, Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: a.machine.Beat(), Term: 1, Asked: 1,
		}}})
	}
	answers(2, 5*time.Millisecond)
	assert.Equal(t, 5*time.Millisecond, a.machine.measured())
	answers(4, 8*time.Millisecond)
	assert.Equal(t, 5*time.Millisecond, a.machine.measured(), "an observer's answer counts for nothing")
	a.ring()
	assert.Equal(t, 5*time.Millisecond, a.out.Send.RoundTrip)
}

// A process that was stopped sees one answer come very late. The other answers count more; if the
// network has really become slow, they show it again and again.
func TestOneLongRoundTripRulesNothing(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	var m Machine
	for range 20 {
		m.observe(r, time.Millisecond)
	}
	m.observe(r, 3*time.Second)
	assert.LessOrEqual(t, m.measured(), 2*time.Millisecond+r.shortestSlot())
	for range 8 {
		m.observe(r, 300*time.Millisecond)
	}
	assert.Equal(t, 300*time.Millisecond, m.measured())
	for range 8 {
		m.observe(r, 3*time.Second)
	}
	assert.Equal(t, 400*time.Millisecond, m.measured(), "with longer ones no leader could hold out")
	for range 50 {
		m.observe(r, time.Millisecond)
	}
	assert.Less(t, m.measured(), 10*time.Millisecond)
	m.observe(r, -time.Second)
	assert.Positive(t, m.measured(), "what cannot be is not taken in")
}

func TestRoundTripsAreForgottenByAndBy(t *testing.T) {
	r := &Rules{Timing: DefaultTiming()}
	for measured, want := range map[time.Duration]time.Duration{
		0:   800, // not known
		1:   700,
		720: 790,
		799: 799,
		800: 800,
		900: 900,
	} {
		m := Machine{roundTrip: 800}
		m.observe(r, measured*time.Microsecond)
		assert.Equal(t, want*time.Microsecond, m.measured(), "after %d µs", measured)
	}
}

// Round trips longer than the beats that a leader keeps are not waited for, nor longer ones than a minute.
func TestTheLongestRoundTripThatIsTakenIn(t *testing.T) {
	for heartbeat, longest := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 400 * time.Millisecond, 15 * time.Second: time.Minute, 5 * time.Hour: time.Minute,
	} {
		r := threeRules()
		r.Timing.Heartbeat = heartbeat
		var m Machine
		for range 10 {
			m.observe(r, 10*time.Hour)
		}
		assert.Equal(t, longest, m.measured(), "with a heartbeat every %v", heartbeat)
	}
}

// All who wait for their turn count in the same slots: in those of the leader's measure, as long
// as that can be.
func TestAFollowerTakesItsLeadersMeasure(t *testing.T) {
	a := followingAlone(t, false)
	for _, c := range []struct{ told, want time.Duration }{
		{20 * time.Millisecond, 20 * time.Millisecond},
		{time.Millisecond, time.Millisecond},
		{0, time.Millisecond},
		{100 * time.Hour, a.rules.longestRoundTrip()},
	} {
		body := a.beat(1, 2)
		body.RoundTrip = c.told
		require.Equal(t, rpc.Success, a.asked(theLeader, body))
		assert.Equal(t, c.want, a.machine.measured(), "after %v", c.told)
	}
}
