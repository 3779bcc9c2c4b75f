package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// Of each node the newest beat waits, and no more nodes' than there is room for.
func TestTheNewestBeatOfEachNodeWaits(t *testing.T) {
	var in Intake
	assert.False(t, in.ReceiveBeat(&rpc.Beat{From: "n1"}), "nothing takes part")
	in.live = 1
	for i := range maxBeats {
		assert.True(t, in.ReceiveBeat(&rpc.Beat{From: fmt.Sprint("n", i), Number: 1}))
	}
	assert.False(t, in.ReceiveBeat(&rpc.Beat{From: "another"}))
	assert.True(t, in.ReceiveBeat(&rpc.Beat{From: "n7", Number: 2}))
	assert.True(t, in.ReceiveBeat(&rpc.Beat{From: "n7", Number: 1}), "an older one that comes late is not missed")
	var taken Taken
	in.Take(&taken)
	numbers := map[string]uint64{}
	taken.Drain(func(b *rpc.Beat) { numbers[b.From] = b.Number }, nil, nil)
	assert.Len(t, numbers, maxBeats)
	assert.EqualValues(t, 2, numbers["n7"])
	assert.EqualValues(t, 1, numbers["n8"])
	in.Take(&taken)
	assert.Empty(t, taken.beats)
}

// A group that needs more beats than the others does not delay the beat on which those rely.
func TestAShorterIntervalDelaysNoBeat(t *testing.T) {
	var b beats
	b.begin(new(peer), 0, 100)
	b.begin(new(peer), 90, 30)
	assert.EqualValues(t, 100, b.due)
	assert.EqualValues(t, 30, b.every)
	b.begin(new(peer), 95, 2)
	assert.EqualValues(t, 97, b.due)
}

// When all groups that needed the short interval are gone, the next one begins with its own.
func TestAnIntervalEndsWithItsGroups(t *testing.T) {
	var b beats
	b.begin(new(peer), 0, 30)
	b.due = 0 // there is nobody to send the next one to
	b.begin(new(peer), 90, 100)
	assert.EqualValues(t, 100, b.every)
	assert.EqualValues(t, 190, b.due)
}

// An answer that comes so late that the time is not known any more counts for nothing. If it were dated by the beat that has
// taken the place, leaders would hold leases for longer than others have promised.
func TestTheTimeOfABeatIsKnownUntilAnotherTakesItsPlace(t *testing.T) {
	var b beats
	for range 2*keptBeats + 7 {
		b.count(time.Duration(b.number+1) * time.Second)
	}
	for back := range uint64(2 * keptBeats) {
		at, known := b.when(b.number - back)
		assert.Equal(t, back < keptBeats, known, "%d beats ago", back)
		if known {
			assert.Equal(t, time.Duration(b.number-back)*time.Second, at, "%d beats ago", back)
		}
	}
}

// A process that was stopped owes nobody the beats of that time. All of them at once would be a storm.
func TestBeatsAreNotMadeUpForAfterAPause(t *testing.T) {
	f := newFlock(t)
	n, every := f.node, DefaultTiming().Heartbeat
	n.beats.begin(n.peers.members["n1"], n.now, every)
	n.At(n.now + time.Hour)
	for range 3 {
		n.EndTurn()
	}
	assert.Len(t, f.sent, 1)
	assert.Equal(t, n.now+every, n.beats.due)
}

// Groups that leave their beats to nodes have no alarms at which they would be looked at. So their node looks at all of
// them with a beat, in the turn in which it is due, or in which it arrives.
func TestQuietGroupsNoticeWhatHangsAtTheirNode(t *testing.T) {
	timing := DefaultTiming()
	for why, c := range map[Inability]struct {
		hangs  func(*shore)
		within time.Duration
	}{
		NotAbleDisk: {func(s *shore) { s.node.saves.saving, s.node.saves.began = []*Group{{}}, s.node.now }, timing.Detection() + timing.Heartbeat},
		// It is asked with the next beat.
		NotAbleSilent: {func(s *shore) { s.judges, s.node.stalled.never = true, false }, timing.Detection() + 2*timing.Heartbeat},
	} {
		for name, at := range map[string]func(*crossing) *shore{
			"leaders":   func(c *crossing) *shore { return c.leads },
			"followers": func(c *crossing) *shore { return c.follows },
		} {
			x := newCrossing(t, 3)
			for x.passes(2 * time.Second); len(x.leads.beats) == 0; {
				x.passes(time.Millisecond)
			}
			s := at(x)
			for _, g := range s.groups {
				require.True(t, g.quiet())
			}
			c.hangs(s)
			x.passes(timing.Detection())
			assert.Equal(t, 0, s.unable(why), "%s: %v", name, why)
			x.passes(c.within - timing.Detection())
			assert.Equal(t, 3, s.unable(why), "%s: %v", name, why)
		}
	}
}

// unable counts the groups whose members are not able to lead for this reason.
func (s *shore) unable(why Inability) (count int) {
	for _, g := range s.groups {
		if s := g.Peek(); s.Inability() == why {
			count++
		}
	}
	return count
}

// A beat that this node can make nothing of changes nothing.
func TestOtherBeatsAreDropped(t *testing.T) {
	d := newRecorders(t, 3)[0]
	n := d.node
	n.Exchange(1, 1, nil) // it sends none here
	n.Start(&d.group)
	good := rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 5}}
	for _, beat := range []rpc.Beat{
		{From: "n1", To: "n2", Session: good.Session},
		{From: "stranger", To: "n0", Session: good.Session},
		{From: "n1", To: "n0", Session: good.Session, Leavings: []rpc.Leaving{{}}},
	} {
		n.Beat(&beat)
		assert.Zero(t, n.peers.members["n1"].link.peer)
	}
	assert.NotContains(t, n.peers.members, "stranger")
	assert.Equal(t, []Drop{DropMisaddressed, DropUnknownGroup, DropMalformed}, d.dropped)
	n.Beat(&good)
	assert.EqualValues(t, 5, n.peers.members["n1"].link.peer)
	assert.True(t, n.peers.members["n1"].reply, "the other node does not know this one yet")
}

// What did not fit in a beat is told when the other node has taken that one in.
func TestTheRestOfTheLeavingsIsTold(t *testing.T) {
	d := newRecorders(t, 3)[0]
	n := d.node
	n.Exchange(1, 1, nil) // it sends none here
	n.Start(&d.group)
	beat := rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 5}}
	n.Beat(&beat)
	other := n.peers.members["n1"]
	for range 6 {
		other.link.departed.add("g", 1, false)
	}
	for _, c := range []struct {
		fit   int // in the newest beat to it
		knows uint32
		more  bool
	}{{4, 0, false}, {4, 3, true}, {4, 3, false}, {1, 4, true}, {2, 6, false}} {
		var told rpc.Beat
		other.link.writes(&told, 0, c.fit)
		other.reply = false
		beat.Of, beat.SeenDeparted = other.link.own, c.knows
		n.Beat(&beat)
		assert.Equal(t, c.more, other.reply, "%+v", c)
	}
}
