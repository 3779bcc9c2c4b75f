package etcd

import (
	crypto "crypto/rand"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/virtual"
)

// witness records the actions of members.
type witness struct {
	beats  []time.Duration // of member 0
	votes  []bool          // the rounds of votes; true: pre-votes
	know   map[int]int
	pauses int
	now    func() time.Duration
}

func (o *witness) Beats(member int) {
	if member == 0 {
		o.beats = append(o.beats, o.now())
	}
}
func (o *witness) Asks(_ int, _ uint64, preVote bool)     { o.votes = append(o.votes, preVote) }
func (o *witness) Pauses(int)                             { o.pauses++ }
func (o *witness) Knows(member int, _ uint64, leader int) { o.know[member] = leader }

// watch runs three members for ten ticks; the first one stands.
func watch[M any](_ func(*raft.RawNode, M) error, found func(*virtual.World[M], int, int) []virtual.Member[M]) (*virtual.World[M], *witness) {
	w := &virtual.World[M]{Random: rand.New(rand.NewPCG(1, 2))}
	o := &witness{know: map[int]int{}, now: w.Now}
	w.Observer = o
	w.Found(found(w, 3, virtual.Nobody))
	for i := range 3 {
		w.Start(i)
	}
	w.Stand(0)
	for w.Now() < 10*time.Second && w.Step() {
	}
	return w, o
}

func TestAMemberTicksAndTellsWhatItDoes(t *testing.T) {
	defer Restore()
	step := (*raft.RawNode).Step
	w, o := watch(step, Found(step, time.Second))
	require.NoError(t, w.Err)
	assert.Equal(t, map[int]int{0: 0, 1: 0, 2: 0}, o.know)
	assert.Equal(t, []bool{true, false}, o.votes, "a pre-vote, then votes, each reported once")
	require.Greater(t, len(o.beats), 8)
	for i := range o.beats[1:] {
		assert.Equal(t, time.Second, o.beats[i+1]-o.beats[i], "a heartbeat every tick")
	}
	assert.NotZero(t, o.beats[0]%time.Second, "ticks have a phase of their own")
}

func TestRandomDrawsAreRepeatableUntilTheyAreRestored(t *testing.T) {
	draw := func() []byte {
		repeat(rand.New(rand.NewPCG(1, 2)))
		b := make([]byte, 8)
		_, err := crypto.Reader.Read(b)
		require.NoError(t, err)
		return b
	}
	first, second := draw(), draw()
	assert.Equal(t, first, second)
	Restore()
	assert.Equal(t, system, crypto.Reader)
}

func TestFieldsAreReadAndSetInBothVersions(t *testing.T) {
	n := uint64(7)
	assert.Equal(t, uint64(7), number(n))
	assert.Equal(t, uint64(7), number(&n))
	assert.Zero(t, number[*uint64](nil))
	set(&n, 8)
	assert.Equal(t, uint64(8), n)
	p := &n
	set(&p, 9)
	assert.Equal(t, uint64(9), *p)
	k := raftpb.MsgVote
	assert.Equal(t, raftpb.MsgVote, kind(k))
	assert.Equal(t, raftpb.MsgVote, kind(&k))
	assert.Zero(t, kind[*raftpb.MessageType](nil))
}

func TestTheLoggerIsSilentAndPanics(t *testing.T) {
	var l raft.Logger = quiet{}
	l.Infof("%d", 1)
	assert.Panics(t, func() { l.Panicf("%d", 1) })
	assert.Panics(t, func() { l.Panic(1) })
}

func TestALeaderSendsWhileItSavesAndAVoterAfterwards(t *testing.T) {
	defer Restore()
	step := (*raft.RawNode).Step
	w := &virtual.World[*raftpb.Message]{Save: time.Second, Random: rand.New(rand.NewPCG(1, 2))}
	o := &witness{know: map[int]int{}, now: w.Now}
	w.Observer = o
	w.Found(Found(step, time.Hour)(w, 3, virtual.Nobody))
	for i := range 3 {
		w.Start(i)
	}
	w.Stand(0)
	// Its term is saved, and then both voters save it, before they say so.
	w.Until(2*time.Second - 1)
	assert.Equal(t, map[int]int{0: virtual.Nobody, 1: virtual.Nobody, 2: virtual.Nobody}, o.know)
	w.Until(2 * time.Second)
	assert.Equal(t, map[int]int{0: 0, 1: 0, 2: 0}, o.know, "the leader's first entry is on its way at once")
	require.NoError(t, w.Err)
}

func TestAMemberHandsOver(t *testing.T) {
	defer Restore()
	step := (*raft.RawNode).Step
	w, o := watch(step, Found(step, time.Second))
	w.Transfer(0, 2)
	assert.Equal(t, 1, o.pauses)
	w.Until(w.Now() + time.Second)
	require.NoError(t, w.Err)
	assert.Equal(t, map[int]int{0: 2, 1: 2, 2: 2}, o.know)
}

func TestTicksKeepTheirPhaseDespiteTheDisk(t *testing.T) {
	defer Restore()
	phase := func(save time.Duration) time.Duration {
		w := &virtual.World[*raftpb.Message]{Save: save, Random: rand.New(rand.NewPCG(1, 2))}
		o := &witness{know: map[int]int{}, now: w.Now}
		w.Observer = o
		w.Found(Found((*raft.RawNode).Step, time.Second)(w, 3, virtual.Nobody))
		for i := range 3 {
			w.Start(i)
		}
		w.Stand(0)
		w.Until(10 * time.Second)
		require.NotEmpty(t, o.beats)
		return o.beats[len(o.beats)-1] % time.Second
	}
	assert.Equal(t, phase(0), phase(999*time.Millisecond))
}
