// Appends whose leader cannot lead.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestOnlyOtherVotersLead(t *testing.T) {
	g := newRecorders(t, 3)[0].group
	g.Rules.Voters = memberstate.SetOf(1, 2) // n2 is an observer
	for leader, want := range map[string]error{"n0": ErrOtherLeader, "n1": nil, "n2": ErrOtherLeader, "nx": ErrOtherLeader, "": ErrOtherLeader} {
		_, err := g.Hears(new(View), 1, leader, false)
		require.ErrorIs(t, err, want, leader)
	}
}

func TestWhatAMemberHears(t *testing.T) {
	for _, c := range []struct {
		knows memberstate.Seat
		term  memberstate.Term
		want  Hearing
	}{
		{2, 4, HeardStale},
		{2, 5, HeardLeader},
		{3, 5, HeardOther},
		{memberstate.Nobody, 5, HeardNews},
		{2, 6, HeardNews},
	} {
		v := View{Term: 5, Leader: c.knows}
		assert.Equal(t, c.want, v.Hears(c.term, 2), "%+v", c)
	}
}
