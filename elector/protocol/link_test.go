package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/rpc"
)

// linked are the two ends of a link, in one session.
type linked struct {
	leader, follower Link
	newest           uint64 // beat of the leader's node
	left             []rpc.Leaving
}

func newLinked() *linked {
	l := &linked{leader: Link{own: 10}, follower: Link{own: 20}}
	l.leader.meets(rpc.Session{Incarnation: 20})
	l.follower.meets(rpc.Session{Incarnation: 10})
	return l
}

// beats has the leader's node send a beat, which arrives.
func (l *linked) beats() tidings {
	var b rpc.Beat
	l.newest++
	l.leader.writes(&b, l.newest, rpc.MaxLeavings)
	return l.arrives(&b)
}

func (l *linked) arrives(b *rpc.Beat) tidings {
	_, current := l.follower.meets(b.Session)
	if !current {
		return tidings{}
	}
	return l.follower.hears(b, 0, l.leaves)
}

func (l *linked) leaves(one *rpc.Leaving) { l.left = append(l.left, *one) }

// answers has the follower's node answer, and the answer arrive.
func (l *linked) answers() tidings {
	var b rpc.Beat
	l.follower.writes(&b, 0, rpc.MaxLeavings)
	l.leader.meets(b.Session)
	return l.leader.hears(&b, l.newest, l.leaves)
}

// One beat has room for some of the leavings only. It counts when all of them are known.
func TestABeatCountsWhenAllReleasesAreKnown(t *testing.T) {
	l := newLinked()
	for range 2*rpc.MaxLeavings + 1 {
		l.leader.released.add("g", 1, true)
	}
	for range 2 {
		assert.False(t, l.beats().beat)
		answer := l.answers()
		assert.False(t, answer.answered)
		assert.True(t, answer.reply, "the rest does not wait for the next beat")
	}
	assert.True(t, l.beats().beat)
	answer := l.answers()
	assert.True(t, answer.answered)
	assert.False(t, answer.reply, "there is no rest")
	assert.Len(t, l.left, 2*rpc.MaxLeavings+1)
	assert.Nil(t, l.leader.released.kept, "the follower's node has told that it knows them, and there may have been very many")
}

func TestAnAnswerCountsWhenAllDeparturesAreKnown(t *testing.T) {
	l := newLinked()
	for range rpc.MaxLeavings + 1 {
		l.follower.departed.add("g", 1, false)
	}
	assert.True(t, l.beats().beat)
	assert.False(t, l.answers().answered)
	assert.True(t, l.beats().beat)
	assert.True(t, l.answers().answered)
	assert.Len(t, l.left, rpc.MaxLeavings+1)
}

// Those that have happened since the beat left wait for the next one. Otherwise two nodes with many leavings would send one
// beat after another.
func TestOnlyAFullBeatIsFollowedByAnother(t *testing.T) {
	l := newLinked()
	for range rpc.MaxLeavings {
		l.leader.released.add("g", 1, true)
	}
	assert.True(t, l.beats().beat)
	assert.False(t, l.answers().reply, "there is nothing to follow")
	for range rpc.MaxLeavings - 1 {
		l.leader.released.add("g", 1, true)
	}
	assert.True(t, l.beats().beat)
	l.leader.released.add("g", 2, true)
	assert.False(t, l.answers().reply)
}

// Two beats that tell of some of the same are on their way together. Each answer confirms fewer than a beat has room for, and the rest is
// told all the same.
func TestTheRestIsToldAlsoIfItIsConfirmedInPieces(t *testing.T) {
	l := newLinked()
	writes := func() (b rpc.Beat) {
		l.newest++
		l.leader.writes(&b, l.newest, 4)
		return b
	}
	for range 2 {
		l.leader.released.add("g", 1, true)
	}
	first := writes()
	for range 8 {
		l.leader.released.add("g", 1, true)
	}
	second := writes()
	for _, b := range []*rpc.Beat{&first, &second} {
		l.arrives(b)
		assert.True(t, l.answers().reply)
	}
	assert.Len(t, l.left, 4)
	for range 2 {
		b := writes()
		l.arrives(&b)
	}
	assert.True(t, l.answers().reply)
	b := writes()
	l.arrives(&b)
	assert.False(t, l.answers().reply, "all is told")
	assert.Empty(t, l.leader.released.kept)
}

// A leaving that is told twice is one, and one before which others are missing waits for them.
func TestLeavingsAreTakenOnceAndInOrder(t *testing.T) {
	l := newLinked()
	for number := range 3 {
		l.leader.released.add("g", 1, true)
		assert.EqualValues(t, number+1, l.leader.released.count())
	}
	var b rpc.Beat
	l.newest++
	l.leader.writes(&b, l.newest, rpc.MaxLeavings)
	gap := b
	gap.Leavings = b.Leavings[1:]
	assert.False(t, l.arrives(&gap).beat)
	assert.Empty(t, l.left)
	assert.True(t, l.arrives(&b).beat)
	assert.False(t, l.arrives(&b).beat, "it has been taken")
	assert.Len(t, l.left, 3)
}

// An answer to a beat that was never sent counts for nothing.
func TestAnAnswerToNoBeatIsIgnored(t *testing.T) {
	l := newLinked()
	l.beats()
	b := rpc.Beat{Session: l.follower.session(), Answers: 2}
	assert.False(t, l.leader.hears(&b, l.newest, l.leaves).answered)
	b.Answers = 1
	assert.True(t, l.leader.hears(&b, l.newest, l.leaves).answered)
}

// What is kept for a node that does not confirm it is bounded: then all bonds end, as if this node had
// started again.
func TestTooManyLeavingsEndTheSession(t *testing.T) {
	for name, of := range map[string]func(*Link) *leavings{
		"releases":   func(l *Link) *leavings { return &l.released },
		"departures": func(l *Link) *leavings { return &l.departed },
	} {
		l := newLinked()
		kept := of(&l.leader)
		kept.kept = make([]rpc.Leaving, mostLeavings)
		assert.False(t, l.leader.overflows(), name)
		kept.add("g", 1, kept == &l.leader.released)
		assert.True(t, l.leader.overflows(), name)
		l.leader.renew(l.leader.own + 1)
		assert.Empty(t, kept.kept, name)
		begins, current := l.follower.meets(l.leader.session())
		assert.True(t, begins, name)
		assert.True(t, current, name)
		assert.True(t, l.beats().beat, name)
	}
}

// Counters of one session may wrap around.
func TestLeavingsWrapAround(t *testing.T) {
	l := newLinked()
	last := ^uint32(0)
	l.leader.released.told, l.follower.seenReleased = last, last
	l.leader.released.add("g", 1, true)
	assert.True(t, l.beats().beat)
	assert.EqualValues(t, 0, l.follower.seenReleased)
	l.answers()
	assert.Empty(t, l.leader.released.kept)
}

// Otherwise followers that give up at a wrap would stay bonded for ever.
func TestEpochsWrapAround(t *testing.T) {
	last := ^uint32(0)
	l := Link{epoch: last}
	assert.True(t, l.moves(0))
	assert.False(t, l.moves(last), "it is late")
	assert.EqualValues(t, 0, l.epoch)
	assert.True(t, reaches(0, last))
	assert.False(t, reaches(last, 0))
}

// Two nodes that both lead would answer each other's answers without end while a release is missing.
func TestABeatThatDoesNotCountYetIsAnsweredOnce(t *testing.T) {
	l := newLinked()
	l.leader.released.add("g", 1, true)
	var b rpc.Beat
	l.newest++
	l.leader.writes(&b, l.newest, 0)
	first, again := l.arrives(&b), l.arrives(&b)
	assert.False(t, first.beat)
	assert.True(t, first.reply)
	assert.False(t, again.reply)
}

// Messages of an earlier process may be late. They count for nothing, and bring its session back no more.
func TestAnEarlierProcessIsNotHeard(t *testing.T) {
	l := newLinked()
	begins, current := l.follower.meets(rpc.Session{Incarnation: 11, Of: 20})
	assert.True(t, begins)
	assert.True(t, current)
	l.follower.departed.add("g", 1, false)
	begins, current = l.follower.meets(l.leader.session())
	assert.False(t, begins, "the bonds of the present process would end")
	assert.False(t, current)
	assert.Equal(t, rpc.Session{Incarnation: 20, Of: 11}, l.follower.session())
	assert.EqualValues(t, 1, l.follower.departed.count())
}

// An answer that takes a bond bonds nobody once the follower's node has given up its leader's, or has told of a
// departure that the answer does not know, or one that it knows has not been told yet.
func TestAnAnswerBondsOnlyWhereNothingHasEndedSince(t *testing.T) {
	for name, c := range map[string]struct {
		answer         rpc.Bond
		bonded, allEnd bool
	}{
		"as much is known":           {answer: rpc.Bond{Taken: true, Epoch: 4, Count: 6}, bonded: true},
		"it takes none":              {answer: rpc.Bond{Epoch: 4, Count: 6}},
		"it has given up since":      {answer: rpc.Bond{Taken: true, Epoch: 3, Count: 6}},
		"it has given up all":        {answer: rpc.Bond{Taken: true, Epoch: 5, Count: 6}, bonded: true, allEnd: true},
		"a departure came since":     {answer: rpc.Bond{Taken: true, Epoch: 4, Count: 5}},
		"a departure is yet to come": {answer: rpc.Bond{Taken: true, Epoch: 4, Count: 7}},
	} {
		l := Link{epoch: 4, seenDeparted: 6}
		bonded, allEnd := l.bonds(&c.answer)
		assert.Equal(t, c.bonded, bonded, name)
		assert.Equal(t, c.allEnd, allEnd, name)
	}
}

// A beat that was sent before a heartbeat may come after it. A heartbeat that makes no new bond leaves it to the groups that are
// bonded; one that makes a bond ends it for all, because it may be of an earlier term than the bond.
func TestABeatThatIsOvertakenCountsUnlessABondWasMade(t *testing.T) {
	for _, already := range []bool{true, false} {
		l := newLinked()
		var b rpc.Beat
		l.newest++
		l.leader.writes(&b, l.newest, rpc.MaxLeavings)
		bond := l.leader.offers(l.newest)
		assert.True(t, l.follower.takes(&bond, already))
		assert.Equal(t, already, l.arrives(&b).beat, "bonded already: %v", already)
	}
}
