// How a group is set up at a node: what can be wrong with that, and the rules that follow.

package protocol

import (
	"unicode/utf8"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Setup is how a group is set up. An engine says it by elector.GroupConfig, where each field is
// explained.
type Setup struct {
	Group                      string
	Members                    []memberstate.Member
	Timing                     Timing
	Preferred                  []string
	Leases, NoPreVote, NoRanks bool
}

// Electorate is who elects, and by which rules at a node. It complains about every field that is
// wrong; then the electorate is not to be used.
func (s *Setup) Electorate(self string, bad *Complaints) Electorate {
	switch {
	case s.Group == "":
		bad.Add("Group", "is empty")
	case len(s.Group) > rpc.MaxGroupLength:
		bad.Add("Group", "has %d bytes, %d is the most", len(s.Group), rpc.MaxGroupLength)
	case !utf8.ValidString(s.Group):
		bad.Add("Group", "is not valid UTF-8: %q", s.Group)
	}
	members, err := memberstate.NewMembers(s.Members)
	if err != nil {
		bad.Add("Members", "are unusable: %v", err)
	} else if members.Seat(self) == memberstate.Stranger {
		bad.Add("Members", "do not include Self %q", self)
	}
	s.Timing.Check(bad, s.Leases)
	r := s.Rules(members, self)
	for _, id := range s.Preferred {
		if err == nil && !r.Voters.Has(members.Seat(id)) {
			bad.Add("Preferred", "names %q, which is no voter", id)
		}
	}
	return Electorate{Members: members, Rules: r}
}

// Rules are those that the machine of a member goes by. Nothing is wrong with the setup, and
// Members is not looked at.
func (s *Setup) Rules(members memberstate.Members, self string) Rules {
	r := Rules{
		Self: members.Seat(self), Voters: members.Voters(), All: members.All(),
		Timing: s.Timing, PreVote: !s.NoPreVote, Ranks: !s.NoRanks,
	}
	for _, id := range s.Preferred {
		r.Preferred = r.Preferred.With(members.Seat(id))
	}
	if s.Leases {
		r.Lease = s.Timing.Detection()
	}
	return r
}
