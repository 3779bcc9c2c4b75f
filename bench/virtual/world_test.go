package virtual

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// note is an event of a member in these tests.
type note struct {
	at      time.Duration
	from    int
	message string
}

// member notes its events, and answers questions.
type member struct {
	world *World[string]
	index int
	notes []note
	saves int // how often it saves again
}

func (m *member) Start()          {}
func (m *member) Stand()          { m.note(m.index, "stand") }
func (m *member) Transfer(to int) { m.note(to, "transfer") }
func (m *member) Resign()         { m.note(m.index, "resign") }
func (m *member) Lost(peer int)   { m.note(peer, "lost") }
func (m *member) Ring()           { m.note(m.index, "ring") }

func (m *member) Saved() {
	m.note(m.index, "saved")
	if m.saves > 0 {
		m.saves--
		m.world.Saves(m.index)
	}
}

func (m *member) Receive(from int, q *string) {
	m.note(from, *q)
	if *q == "question" {
		answer := "answer"
		m.world.Send(m.index, from, &answer)
	}
}

func (m *member) note(from int, message string) {
	m.notes = append(m.notes, note{m.world.Now(), from, message})
}

// newWorld makes a world with a number of members, which have all started.
func newWorld(delay time.Duration, loss float64, members int) (*World[string], []*member) {
	w := &World[string]{Delay: delay, Loss: loss, Random: rand.New(rand.NewPCG(1, 2))}
	group, all := make([]*member, members), make([]Member[string], members)
	for i := range group {
		group[i] = &member{world: w, index: i}
		all[i] = group[i]
	}
	w.Found(all)
	for i := range group {
		w.Start(i)
	}
	return w, group
}

func (w *World[M]) toTheEnd() {
	for w.Step() {
	}
}

func TestAMessageTakesAsLongAsItShould(t *testing.T) {
	w, m := newWorld(3*time.Millisecond, 0, 2)
	q := "question"
	w.Send(0, 1, &q)
	w.toTheEnd()
	assert.Equal(t, []note{{3 * time.Millisecond, 0, "question"}}, m[1].notes)
	assert.Equal(t, []note{{6 * time.Millisecond, 1, "answer"}}, m[0].notes)
	assert.Equal(t, 2, w.Messages)
	assert.Equal(t, 2, w.Events)
}

func TestAMessageComesBeforeAnAlarmOfTheSameTime(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	w.Arm(1, time.Second)
	q := "hello"
	w.Send(0, 1, &q)
	w.toTheEnd()
	assert.Equal(t, []note{{time.Second, 0, "hello"}, {time.Second, 1, "ring"}}, m[1].notes)
}

func TestAnAlarmTakesThePlaceOfTheLast(t *testing.T) {
	w, m := newWorld(0, 0, 1)
	w.Arm(0, time.Second)
	w.Arm(0, time.Minute)
	w.toTheEnd()
	assert.Equal(t, []note{{time.Minute, 0, "ring"}}, m[0].notes)
}

func TestDeadMembersHandleNoEvents(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	q := "question"
	w.Arm(1, time.Minute)
	w.Send(0, 1, &q)
	w.Kill(1)
	w.toTheEnd()
	assert.Empty(t, m[1].notes)
	assert.Zero(t, w.Events)
}

func TestMessagesOfADeadMemberStillArrive(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	q := "hello"
	w.Send(0, 1, &q)
	w.Kill(0)
	w.toTheEnd()
	assert.Len(t, m[1].notes, 1)
}

func TestLivingMembersLearnOfABrokenConnection(t *testing.T) {
	w, m := newWorld(time.Second, 1, 4)
	w.Kill(2)
	w.Until(time.Minute)
	w.Break(0)
	w.Kill(3) // before it learns of it
	w.toTheEnd()
	for i, expected := range [][]note{nil, {{time.Minute + time.Second, 0, "lost"}}, nil, nil} {
		assert.Equal(t, expected, m[i].notes, "member %d, whatever share of messages is lost", i)
	}
	assert.True(t, w.Dead(0))
	assert.Zero(t, w.Messages, "no messages were sent")
}

func TestMessagesArriveBeforeTheEndOfTheirConnection(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	q := "question"
	w.Send(0, 1, &q)
	w.Break(0)
	w.toTheEnd()
	assert.Equal(t, []note{{time.Second, 0, "question"}, {time.Second, 0, "lost"}}, m[1].notes)
	assert.Empty(t, m[0].notes)
}

func TestARestartedMemberReceivesMessages(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	w.Kill(1)
	w.Start(1)
	q := "hello"
	w.Send(0, 1, &q)
	w.toTheEnd()
	assert.Len(t, m[1].notes, 1)
}

func TestTheConfiguredShareOfMessagesIsLost(t *testing.T) {
	w, m := newWorld(0, 0.1, 2)
	q := "hello"
	for range 10_000 {
		w.Send(0, 1, &q)
	}
	w.toTheEnd()
	assert.Equal(t, 10_000, w.Messages, "lost messages count as sent")
	assert.InDelta(t, 9000, len(m[1].notes), 100)
}

func TestManyMessagesArriveInTheirOrder(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	sent, next := 0, 0
	for range 100 { // so that the ring has to grow with its head in the middle
		for range 3 {
			q := string(rune('a' + sent%26))
			w.Send(0, 1, &q)
			sent++
		}
		w.Step()
	}
	w.toTheEnd()
	for _, n := range m[1].notes {
		assert.Equal(t, string(rune('a'+next%26)), n.message)
		next++
	}
	assert.Equal(t, sent, next)
}

func TestNothingHappensAfterAnError(t *testing.T) {
	w, _ := newWorld(0, 0, 1)
	w.Arm(0, 0)
	w.Err = assert.AnError
	assert.False(t, w.Step())
}
