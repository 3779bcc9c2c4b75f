package virtual

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// newSlowWorld makes a world with one member, whose saves take a second and which has begun one.
func newSlowWorld() (*World[string], *member) {
	w := &World[string]{Save: time.Second, Random: rand.New(rand.NewPCG(1, 2))}
	m := &member{world: w}
	w.Found([]Member[string]{m})
	w.Start(0)
	w.Saves(0)
	return w, m
}

func TestAMemberThatSavesGetsItsMessagesLaterInOrder(t *testing.T) {
	w, m := newSlowWorld()
	first, second := "first", "second"
	w.Send(0, 0, &first)
	w.Arm(0, time.Second)
	w.Send(0, 0, &second)
	w.toTheEnd()
	assert.Equal(t, []note{
		{time.Second, 0, "saved"}, {time.Second, 0, "first"}, {time.Second, 0, "second"},
	}, m.notes)
}

func TestAnAlarmWaitsForTheDisk(t *testing.T) {
	w := &World[string]{Save: time.Second, Random: rand.New(rand.NewPCG(1, 2))}
	m := &member{world: w}
	w.Found([]Member[string]{m})
	w.Start(0)
	w.Arm(0, time.Millisecond)
	assert.True(t, w.Saves(0))
	w.Until(time.Minute)
	assert.Equal(t, []note{{time.Second, 0, "saved"}, {time.Second, 0, "ring"}}, m.notes)
	assert.Equal(t, time.Minute, w.Now())
}

func TestASecondSaveDelaysEventsAgain(t *testing.T) {
	w, m := newSlowWorld()
	m.saves = 1
	q := "hello"
	w.Send(0, 0, &q)
	w.toTheEnd()
	assert.Equal(t, []note{{time.Second, 0, "saved"}, {2 * time.Second, 0, "saved"}, {2 * time.Second, 0, "hello"}}, m.notes)
}

func TestASaveOfADeadMemberIsLost(t *testing.T) {
	w, m := newSlowWorld()
	q := "hello"
	w.Send(0, 0, &q)
	w.Until(time.Millisecond)
	w.Kill(0)
	w.Start(0)
	w.Send(0, 0, &q)
	w.toTheEnd()
	assert.Equal(t, []note{{time.Millisecond, 0, "hello"}}, m.notes)
}

func TestOrdersAreCarriedOutAfterTheSave(t *testing.T) {
	w, m := newSlowWorld()
	w.Stand(0)
	w.Transfer(0, 7)
	w.Resign(0)
	w.toTheEnd()
	assert.Equal(t, []note{
		{time.Second, 0, "saved"}, {time.Second, 0, "stand"}, {time.Second, 7, "transfer"}, {time.Second, 0, "resign"},
	}, m.notes)
}

func TestAMemberThatSavesLearnsLaterOfABrokenConnection(t *testing.T) {
	w := &World[string]{Delay: time.Millisecond, Save: time.Second, Random: rand.New(rand.NewPCG(1, 2))}
	m := &member{world: w, index: 1}
	w.Found([]Member[string]{&member{world: w}, m})
	w.Start(0)
	w.Start(1)
	w.Saves(1)
	w.Break(0)
	w.toTheEnd()
	assert.Equal(t, []note{{time.Second, 1, "saved"}, {time.Second, 0, "lost"}}, m.notes)
}

func TestDisksThatTakeNoTimeAreNotWaitedFor(t *testing.T) {
	w, m := newWorld(0, 0, 1)
	assert.False(t, w.Saves(0))
	w.toTheEnd()
	assert.Empty(t, m[0].notes)
}

func TestUntilStopsAtItsTime(t *testing.T) {
	w, m := newWorld(time.Second, 0, 2)
	q := "hello"
	w.Send(0, 1, &q)
	w.Until(time.Second - 1)
	assert.Empty(t, m[1].notes)
	assert.Equal(t, time.Second-1, w.Now())
	w.Until(time.Second)
	assert.Len(t, m[1].notes, 1)
}
