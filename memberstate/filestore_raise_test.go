// Raising the term of a group in its store.

package memberstate_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// The result is durable, and other groups are unchanged.
func TestARaisedTermHasNoVoteAndKeepsThePromise(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	old, other := written("g", 3, "n1"), written("other", 5, "n2")
	require.NoError(t, s.Save([]memberstate.Record{old, other}))

	before, after, err := s.RaiseTerm("g", 1<<50)
	require.NoError(t, err)
	want := old
	want.Term, want.Vote = 1<<50, ""
	assert.Equal(t, old, before)
	assert.Equal(t, want, after)
	closed(t, s)
	s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	assert.Equal(t, []memberstate.Record{want, other}, s.Records())
	closed(t, s)
}

func TestATermCanOnlyBeRaised(t *testing.T) {
	s, err := memberstate.CreateSmall(new(crashdisk.Disk), "n0", "n0", room)
	require.NoError(t, err)
	old := written("g", 3, "n1")
	require.NoError(t, s.Save([]memberstate.Record{old}))
	for _, refused := range []struct {
		group string
		to    memberstate.Term
		why   error
		says  string
	}{
		{"g", 2, memberstate.ErrTermNotLarger, "which is 3"},
		{"g", 3, memberstate.ErrTermNotLarger, "which is 3"},
		{"g", memberstate.LargestRaise + 1, memberstate.ErrTermTooLarge, "9223372036854775808 is the most"},
		{"h", 9, memberstate.ErrUnknownGroup, `"h"`},
	} {
		before, after, err := s.RaiseTerm(refused.group, refused.to)
		require.ErrorIs(t, err, refused.why)
		assert.ErrorContains(t, err, refused.says)
		assert.ErrorContains(t, err, "n0", "it names the file")
		assert.Equal(t, before, after)
	}
	assert.Equal(t, []memberstate.Record{old}, s.Records())
	_, _, err = s.RaiseTerm("g", memberstate.LargestRaise)
	require.NoError(t, err)
	closed(t, s)
	_, _, err = s.RaiseTerm("g", memberstate.LargestRaise)
	assert.ErrorContains(t, err, "closed")
}

// That record counts the starts of the node, and says whether it is kept drained.
func TestTheTermOfTheNodesOwnRecordIsNotRaised(t *testing.T) {
	s, err := memberstate.CreateSmall(new(crashdisk.Disk), "n0", "n0", room)
	require.NoError(t, err)
	_, err = memberstate.CountStart(s, 7)
	require.NoError(t, err)
	require.NoError(t, memberstate.KeepDrained(s, true))
	old := s.Records()
	require.Len(t, old, 1)
	before, after, err := s.RaiseTerm("", 9)
	require.ErrorIs(t, err, memberstate.ErrUnknownGroup)
	assert.ErrorContains(t, err, "no group has an empty name")
	assert.Equal(t, old[0], before)
	assert.Equal(t, old[0], after)
	assert.Equal(t, old, s.Records())
	closed(t, s)
}

func TestATermIsNotRaisedIfTheDiskFails(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	old := written("g", 3, "n1")
	require.NoError(t, s.Save([]memberstate.Record{old}))
	failNth(disk, 1, syscall.EIO)
	before, after, err := s.RaiseTerm("g", 9)
	require.ErrorIs(t, err, memberstate.ErrStoreBroken)
	assert.Equal(t, old, before)
	assert.Equal(t, old, after)
	disk.Before = nil
	closed(t, s)
}
