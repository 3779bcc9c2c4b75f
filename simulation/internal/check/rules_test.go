package check

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

func TestMoreThanHalfOfTheVotesWin(t *testing.T) {
	for voters, least := range []int{1, 1, 2, 2, 3, 3} {
		assert.False(t, Elected(least-1, voters), voters)
		assert.True(t, Elected(least, voters), voters)
	}
}

func TestAWinnerIsFollowed(t *testing.T) {
	assert.True(t, FollowsWinner(memberstate.Nobody, 0))
	assert.True(t, FollowsWinner(2, memberstate.SetOf(2)))
	assert.False(t, FollowsWinner(2, memberstate.SetOf(1)))
	assert.False(t, FollowsWinner(2, memberstate.SetOf(memberstate.Nobody)))
}

func TestLeasesOverlapWhileBothAreHeld(t *testing.T) {
	assert.True(t, Overlap[int64](11, 12, 10))
	assert.False(t, Overlap[int64](10, 12, 10))
	assert.False(t, Overlap[int64](12, 10, 10))
}

func TestLeadBeginsAndEndsWithItsOffice(t *testing.T) {
	serving := Office{Term: 2, Lead: 2, Runs: true, Serves: true}
	elected, stopping, done := serving, serving, serving
	elected.Lead, elected.Runs = 1, false
	stopping.Ended, stopping.Serves = true, false
	done.Runs = false
	slow := stopping
	slow.Ended = false
	other := serving
	other.Term = 3
	none := Breach{}
	for _, c := range []struct {
		what string
		is   Breach
		want invariant.Invariant
	}{
		{"it serves two terms", serving.Begins(3), invariant.OneOffice},
		{"it begins twice", done.Begins(2), invariant.OneOffice},
		{"it begins for another term", elected.Begins(3), invariant.OneOffice},
		{"it begins without leading", Office{Term: 2}.begins(2), invariant.OneOffice},
		{"it ends and does not run", done.Ends(2), invariant.OneOffice},
		{"another ends", serving.Ends(1), invariant.OneOffice},
		{"it asks while Lead runs", stopping.Asks(), invariant.OneOffice},
		{"it goes on without leading", slow.Goes(), invariant.OneOffice},
		{"it goes on in the next term", other.Goes(), invariant.OneOffice},
		{"Lead was not begun", elected.Goes(), invariant.NeverStuck},
	} {
		assert.Equal(t, c.want, c.is.Broken, c.what)
		assert.False(t, c.is.None(), c.what)
	}
	for _, is := range []Breach{elected.Begins(2), serving.Ends(2), done.Asks(), serving.Goes(), stopping.Goes(), done.Goes(), (&Office{}).Goes()} {
		assert.Equal(t, none, is)
	}
}

func (o Office) begins(term memberstate.Term) Breach { return o.Begins(term) }
