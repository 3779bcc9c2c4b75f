package elector

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// However often a group changes while nobody reads, it waits once, so the list is no longer than the groups are many.
func TestAGroupThatChangesOftenWaitsOnce(t *testing.T) {
	var all watchers
	w, often, once := all.begin(), new(Elector), new(Elector)
	for range 3 {
		all.tell(often)
	}
	all.tell(once)
	assert.Len(t, w.unseen, 2)
	assert.Same(t, often, w.next())
	all.tell(often)
	assert.Same(t, once, w.next())
	assert.Same(t, often, w.next())
	assert.Nil(t, w.next())
	all.end(w)
	all.tell(once)
	assert.Nil(t, w.next())
}
