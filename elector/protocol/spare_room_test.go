package protocol

import (
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

func TestAnEmptyListIsUsedAgain(t *testing.T) {
	assert.Equal(t, 8, cap(emptied(make([]int, 5, 8))))
	assert.Empty(t, emptied(make([]int, 5, 8)))
}
