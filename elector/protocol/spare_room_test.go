package protocol

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// After a storm, lists that are empty again hold no more memory than before.
func TestEmptyListsKeepLittleRoom(t *testing.T) {
	const storm = 4 * mostRoom
	groups := make([]Group, storm)
	for i := range groups {
		groups[i].desk = new(desk)
	}
	var a alarms
	var q campaigns
	var l places
	for i := range groups {
		a.set(&groups[i], time.Second)
		q.add(campaign{group: &groups[i]})
		l.add(&groups[i])
	}
	for range groups {
		a.ripe(time.Minute)
		l.drop(l[0])
	}
	left := storm
	q.drop(func(*campaign) bool { left--; return left >= 1 })
	assert.Len(t, q.all[q.first:], 1)
	q.drop(func(*campaign) bool { return true })
	assert.LessOrEqual(t, cap(a.heap), mostRoom)
	assert.LessOrEqual(t, cap(q.all), mostRoom)
	assert.LessOrEqual(t, cap(l), mostRoom)
	assert.False(t, q.waits())
}

// Nor do the lists of a node that very many groups were in at a time.
func TestEmptyListsOfANodeKeepLittleRoom(t *testing.T) {
	f, _ := leasing(t, 4*mostRoom)
	n, d, all := f.node, &f.node.draining, f.groups
	p := n.peers.members["n1"]
	for what, c := range map[string]struct {
		fill, empty func()
		room        func() int
	}{
		"followers of a node that is silent": {
			func() { p.followers = slices.Clone(all) }, func() { n.unbindAll(p) }, func() int { return cap(p.followers) },
		},
		"steps that wait": {
			func() { n.beats.waits = slices.Clone(all) }, n.leaveWaiting, func() int { return cap(n.beats.waits) },
		},
		"groups to be looked at": {
			func() {
				for _, g := range all {
					n.look(g)
				}
			}, n.lookAtAll, func() int { return cap(n.looks) },
		},
		"groups to be packed": {
			func() {
				n.quiet = nil
				for _, g := range all {
					g.notes, g.running = 0, false // they have ended meanwhile
					n.toPack(g)
				}
				n.At(n.packs)
			}, n.pack, func() int { return cap(n.quiet) },
		},
		"groups to be tried again": {
			func() {
				d.moves = map[*Group]move{}
				for _, g := range all {
					n.sticks(g, move{}, StuckBehind)
				}
				n.At(n.now + time.Hour)
			}, n.retry, func() int { return cap(d.later[0].all) },
		},
		"groups to be handed over": {
			func() { d.most, d.waiting, d.first = 1, slices.Clone(all), 0 }, n.moveWaiting, func() int { return cap(d.waiting) },
		},
	} {
		c.fill()
		assert.GreaterOrEqual(t, c.room(), len(all), what)
		c.empty()
		assert.LessOrEqual(t, c.room(), mostRoom, what)
	}
}

func TestAnEmptyListIsUsedAgain(t *testing.T) {
	assert.Equal(t, 8, cap(emptied(make([]int, 5, 8))))
	assert.Empty(t, emptied(make([]int, 5, 8)))
}
