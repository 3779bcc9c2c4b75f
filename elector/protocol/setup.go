// The configuration of a group at a node: its checks, and the rules that follow from it.

package protocol

import (
	"time"
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
	Vouch                      time.Duration
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
	checkVouch(bad, s.Vouch, s.Timing)
	r := s.Rules(members, self)
	if err == nil {
		checkPreferred(bad, s.Preferred, members, r.Voters)
	}
	return Electorate{Members: members, Rules: r}
}

func checkVouch(bad *Complaints, vouch time.Duration, t Timing) {
	switch {
	case vouch < 0:
		bad.Add("Vouch", "is negative: %v", vouch)
	case vouch > maxDetection:
		bad.Add("Vouch", "is %v, %v is the most", vouch, maxDetection)
	case vouch > 0 && vouch < 2*t.Heartbeat:
		bad.Add("Vouch", "is %v, shorter than two heartbeats of %v: the engine is looked at once a heartbeat", vouch, t.Heartbeat)
	}
}

func checkPreferred(bad *Complaints, ids []string, members memberstate.Members, voters memberstate.Set) {
	for _, id := range ids {
		if !voters.Has(members.Seat(id)) {
			bad.Add("Preferred", "names %q, which is no voter", id)
		}
	}
}

// Rules are those of one member's machine. The setup must be valid; its Members are not looked at.
func (s *Setup) Rules(members memberstate.Members, self string) Rules {
	r := Rules{
		Self: members.Seat(self), Voters: members.Voters(), All: members.All(),
		Timing: s.Timing, PreVote: !s.NoPreVote, Ranks: !s.NoRanks, Vouch: s.Vouch,
	}
	r.Preferred = seats(members, s.Preferred)
	if s.Leases {
		r.Lease = s.Timing.Detection()
	}
	return r
}

func seats(members memberstate.Members, ids []string) (some memberstate.Set) {
	for _, id := range ids {
		some = some.With(members.Seat(id))
	}
	return some
}
