// The configuration of a group at a node: its checks, and the rules that follow from it.

package protocol

import (
	"unicode/utf8"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Setup is the configuration of a group. Engines give it as an elector.GroupConfig, which explains
// each field.
type Setup struct {
	Group                      string
	Members                    []memberstate.Member
	Timing                     Timing
	Preferred                  []string
	Leases, NoPreVote, NoRanks bool
}

// Electorate returns the members and their rules at a node. It complains about every wrong field;
// then the electorate must not be used.
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

// Rules are those of one member's machine. The setup must be valid; its Members are not looked at.
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
