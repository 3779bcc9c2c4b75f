// Groups that leave their beats to nodes are packed, and nothing of them is lost.

package protocol

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// beats has n1 send beats, one in each turn, for so many heartbeats.
func (f *flock) beats(count int) {
	for range count {
		f.node.At(f.node.now + f.groups[0].Rules.Timing.Heartbeat)
		f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: uint64(f.node.now)})
		f.node.EndTurn()
	}
}

func (f *flock) packed() (count int) {
	for _, g := range f.groups {
		if g.packed != nil {
			count++
			assert.Nil(f.t, g.desk)
		}
	}
	return count
}

func TestQuietGroupsArePacked(t *testing.T) {
	f := newFlock(t)
	before, silentAt := f.groups[2].Peek(), f.node.SilentAt(f.groups[2])
	f.beats(2)
	assert.Equal(t, 5, f.packed())
	assert.Empty(t, f.node.quiet)
	assert.Equal(t, before, f.groups[2].Peek())
	assert.Equal(t, before.State, f.groups[2].State())
	assert.Equal(t, silentAt+2*f.groups[2].Rules.Timing.Heartbeat, f.node.SilentAt(f.groups[2]), "and its leader's node is heard")
	assert.LessOrEqual(t, len(f.node.spare.desks), mostSpare)
}

func TestAGroupThatIsUsedStaysOpenForAHeartbeat(t *testing.T) {
	f := newFlock(t)
	f.beats(2)
	g := f.groups[3]
	f.node.Deliver(g, f.heartbeat(g))
	f.node.Deliver(g, f.heartbeat(g))
	assert.Len(t, f.node.quiet, 1, "it is in the list once")
	f.beats(1)
	assert.Equal(t, 4, f.packed(), "something has happened to it")
	f.beats(1)
	assert.Equal(t, 5, f.packed())
}

func TestGroupsArePackedOnlyWhileTheyAreQuiet(t *testing.T) {
	f := newFlock(t)
	f.node.unbind(f.groups[0], f.node.peers.members["n1"])
	f.node.End(f.groups[1])
	f.beats(2)
	assert.Equal(t, 3, f.packed())
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 6, Of: n1At5.Of}, Number: 1})
	assert.Zero(t, f.packed(), "the session is over, so all bonds have ended")
	for _, g := range f.groups[2:] {
		assert.NotZero(t, g.look, "each has its alarm")
	}
	f.beats(2)
	assert.Zero(t, f.packed())
}

func TestANodeThatKeepsGroupsOpenPacksNone(t *testing.T) {
	f := newFlock(t)
	f.node.quiet, f.node.packs = nil, 0
	for _, g := range f.groups {
		g.notes = 0
	}
	f.node.KeepOpen()
	f.node.Deliver(f.groups[0], f.heartbeat(f.groups[0]))
	f.beats(3)
	assert.Zero(t, f.packed())
}

// resting is a group that leads and rests.
func resting(t testing.TB) *flock {
	t.Helper()
	f := newFlock(t)
	g := NewGroup(f.group.Electorate, "resting", f.recorder)
	require.NoError(t, g.Restore(memberstate.Record{Term: 3, Voters: g.Members.Digest()}, true, memberstate.Position{Term: 2, Index: 7}))
	g.Role, g.Leader, g.Vote, g.running, g.place = memberstate.Leader, 1, 1, true, 1
	g.cohort = &cohort{electorate: g.Electorate, rules: g.Rules, seats: memberstate.SetOf(2, 3)}
	g.office.beat, g.ballot, g.roundTrip = 20, 4, 300
	g.duty().lead = lead{term: 3, running: true}
	g.duty().offers = &officeBonds{term: 3, made: g.everyoneElse()}
	g.settle(g.Rules)
	f.groups = []*Group{&g}
	return f
}

// Whatever is different, in any field: the group stays open, or it is the same when it is opened again.
func TestNothingIsLostByPacking(t *testing.T) {
	for name, set := range map[string]func(testing.TB) *flock{"a follower": newFlock, "a leader": resting} {
		packs := 0
		for i := range fields("", reflect.ValueOf(&set(t).groups[0].Session).Elem()) {
			f := set(t)
			g := f.groups[0]
			one := fields("", reflect.ValueOf(&g.Session).Elem())[i]
			one.change()
			changed := flattened(g.Peek())
			if f.node.packOne(g); g.packed != nil {
				packs++
				assert.Equal(t, changed, flattened(g.Peek()), "%s: %s", name, one.name)
				f.node.open(g)
			}
			assert.Equal(t, changed, flattened(g.Session), "%s: %s", name, one.name)
		}
		assert.Greater(t, packs, 10, name)
	}
}

// flat is a session without pointers.
type flat struct {
	session Session
	duties  Duties
	bonds   officeBonds
}

func flattened(s Session) (f flat) {
	if s.duties != nil {
		f.duties, f.bonds = *s.duties, *s.duties.offers
		f.duties.offers = nil
	}
	f.session, f.session.duties = s, nil
	return f
}

// field is a number or a flag somewhere in a value.
type field struct {
	name  string
	value reflect.Value
}

func (f *field) change() {
	v := reflect.NewAt(f.value.Type(), unsafe.Pointer(f.value.UnsafeAddr())).Elem()
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	default:
		v.SetInt(v.Int() + 1)
	}
}

func fields(name string, in reflect.Value) (all []field) {
	switch in.Kind() {
	case reflect.Struct:
		for i := range in.NumField() {
			all = append(all, fields(name+"."+in.Type().Field(i).Name, in.Field(i))...)
		}
	case reflect.Array:
		for i := range in.Len() {
			all = append(all, fields(name, in.Index(i))...)
		}
	case reflect.Pointer:
		if !in.IsNil() {
			all = fields(name, in.Elem())
		}
	default:
		all = []field{{name, in}}
	}
	return all
}

// What waits for a group, or is to happen to it, has no room in what is packed.
func TestWhatIsUnderWayKeepsAGroupOpen(t *testing.T) {
	for name, begin := range map[string]func(f *flock, g *Group){
		"something that waits":     func(f *flock, g *Group) { f.node.transientOf(g) },
		"an ability":               func(f *flock, g *Group) { f.node.abilityOf(g).ordered = true },
		"a look at its ability":    func(f *flock, g *Group) { f.node.look(g) },
		"an alarm":                 func(f *flock, g *Group) { f.node.alarms.set(g, time.Hour) },
		"an alarm that is not set": func(_ *flock, g *Group) { g.alarm-- },
	} {
		f := newFlock(t)
		g := f.groups[0]
		begin(f, g)
		f.node.packOne(g)
		assert.Nil(t, g.packed, name)
	}
}

// Otherwise a node would need more and more memory with each election and each handover.
func TestWhatIsOverKeepsNoGroupOpen(t *testing.T) {
	follower, leader := newFlock(t), resting(t)
	for name, c := range map[string]struct {
		f      *flock
		before func(g *Group)
	}{
		"a follower that has led":             {follower, func(g *Group) { g.office = elected(g.Rules).office }},
		"a leader that has paused its writes": {leader, func(g *Group) { g.duties.pause = pause{number: 3, ready: true} }},
	} {
		g := c.f.groups[0]
		c.before(g)
		g.settle(g.Rules)
		c.f.node.packOne(g)
		assert.NotNil(t, g.packed, name)
	}
}

// What a packed group was is known without opening it.
func TestAPackedGroupIsRead(t *testing.T) {
	f := resting(t)
	g := f.groups[0]
	f.node.packOne(g)
	assert.Equal(t, memberstate.Record{Group: "resting", Term: 3, Vote: "n0", Voters: g.Members.Digest()}, g.Record())
	assert.False(t, g.Waits())
	all, _ := g.Queued()
	assert.Zero(t, all)
	assert.Equal(t, 7, int(f.node.figures(g).Ledger.Index))
	assert.NotNil(t, g.packed)
	assert.Equal(t, memberstate.State{}, new(Group).State(), "one that is not restored")
	assert.Equal(t, Session{}, new(Group).Peek())
}

// Somewhere in a node with many groups something happens all the time.
func TestGroupsThatBecomeQuietDoNotPutOffPacking(t *testing.T) {
	f := newFlock(t)
	f.beats(2)
	require.Equal(t, 5, f.packed())
	for _, g := range f.groups {
		f.node.At(f.node.now + g.Rules.Timing.Heartbeat/2)
		f.node.open(g)
		f.node.EndTurn()
	}
	assert.NotNil(t, f.groups[0].packed)
	assert.Nil(t, f.groups[4].packed)
}
