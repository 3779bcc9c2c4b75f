package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
