// To whom a node that drains gives its groups.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestWhoTakesAGroupFirst(t *testing.T) {
	for what, c := range map[string]struct {
		leads             [2]uint32 // what n1 and n2 have said, and one more
		given             [2]int64
		extra             [2]uint32 // by how much more these groups weigh
		capacity          [2]uint16
		weight            int // the group's
		answer, preferred memberstate.Set
		drains            bool // n2 does
		first             string
	}{
		"who leads fewer groups":                {leads: [2]uint32{8, 5}, first: "n2"},
		"with those that are given":             {leads: [2]uint32{8, 5}, given: [2]int64{0, 4}, first: "n1"},
		"who says how many it leads":            {leads: [2]uint32{8, 0}, first: "n1"},
		"nobody says that":                      {first: ""},
		"whose groups weigh less":               {leads: [2]uint32{8, 5}, extra: [2]uint32{1, 5}, first: "n1"},
		"who can do more":                       {leads: [2]uint32{8, 5}, capacity: [2]uint16{200, 0}, first: "n1"},
		"who can do more, if all are idle":      {leads: [2]uint32{1, 1}, capacity: [2]uint16{0, 200}, first: "n2"},
		"whose load is smaller with the group":  {leads: [2]uint32{4, 3}, capacity: [2]uint16{200, 100}, weight: 9, first: "n1"},
		"who answers":                           {leads: [2]uint32{8, 5}, answer: memberstate.SetOf(2), first: "n1"},
		"who serves":                            {leads: [2]uint32{8, 5}, drains: true, first: "n1"},
		"a preferred voter":                     {leads: [2]uint32{8, 5}, preferred: memberstate.SetOf(1, 2), first: "n1"},
		"another one if that does not answer":   {leads: [2]uint32{8, 5}, preferred: memberstate.SetOf(2), answer: memberstate.SetOf(3), first: "n2"},
		"of two preferred voters as of any two": {leads: [2]uint32{8, 5}, preferred: memberstate.SetOf(2, 3), first: "n2"},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFlock(t)
			g := f.groups[0]
			g.Rules.Preferred = c.preferred
			g.Weigh(c.weight)
			for i, id := range []string{"n1", "n2"} {
				f.node.peers.members[id].leads, f.node.peers.members[id].given = c.leads[i], c.given[i]
				f.node.peers.members[id].extra, f.node.peers.members[id].capacity = c.extra[i], c.capacity[i]
			}
			if c.drains {
				f.node.Beat(&rpc.Beat{From: "n2", To: "n0", Session: n1At5, Number: 1, Leads: c.leads[1], Standing: rpc.Standing{State: rpc.Draining, Changes: 1}})
			}
			if c.answer == 0 {
				c.answer = memberstate.SetOf(2, 3)
			}
			g.Role = memberstate.Leader
			g.office.acks[g.office.beat%recentBeats] = c.answer
			assert.Equal(t, c.first, f.node.takesFirst(g))
			if c.first != "" {
				p := f.node.peers.members[c.first]
				assert.Equal(t, c.given[p.id[1]-'1']+max(int64(c.weight), 1), p.given)
				f.node.Beat(&rpc.Beat{From: p.id, To: "n0", Session: n1At5, Number: 2, Leads: 9})
				assert.Zero(t, p.given, "it has counted them by now")
			}
		})
	}
}
