// An electorate: the members and the rules by which they elect, which many groups of a node share.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Electorate is shared by the groups of a node that have the same members and the same
// rules when they join. Its exported fields do not change once a group has been made with it.
type Electorate struct {
	Members memberstate.Members
	Rules   Rules
	Owner   any // the node's driver; so no group needs room to remember it

	peers       []*peer // by seat; the node fills it when it first sends to a member
	groups      int     // that take part
	sharers     int     // groups that have joined with it, see Electorates
	maintenance Maintenance
}

// Electorates are those that the groups of a node share, because a node may have very many groups. The zero
// Electorates has none. They are their driver's, and guarded like its Intake.
type Electorates struct {
	all map[trait][]*Electorate
}

// trait is what equal electorates have in common, and different ones mostly do not.
type trait struct {
	rules  Rules
	voters uint64 // the digest
}

func (e *Electorate) trait() trait {
	rules := e.Rules
	rules.Maintenance = nil // a group's start sets it
	return trait{rules, e.Members.Digest()}
}

// Share returns the electorate of a group that joins: the one that equals its own, or its own if there is none.
func (s *Electorates) Share(own Electorate) *Electorate {
	key := own.trait()
	alike := s.all[key]
	at := slices.IndexFunc(alike, func(e *Electorate) bool { return e.Members.Equal(own.Members) })
	if at >= 0 {
		alike[at].sharers++
		return alike[at]
	}
	if s.all == nil {
		s.all = make(map[trait][]*Electorate)
	}
	e := &Electorate{Members: own.Members, Rules: own.Rules, Owner: own.Owner, sharers: 1}
	s.all[key] = append(alike, e)
	return e
}

// Leave is called when a group has ended that shares e, or could not join.
func (s *Electorates) Leave(e *Electorate) {
	if e.sharers--; e.sharers > 0 {
		return
	}
	key := e.trait()
	rest := slices.DeleteFunc(s.all[key], func(other *Electorate) bool { return other == e })
	if s.all[key] = rest; len(rest) == 0 {
		delete(s.all, key)
	}
}

// Detection is the longest detection time with which a group has joined.
func (s *Electorates) Detection() (longest time.Duration) {
	for t := range s.all {
		longest = max(longest, t.rules.Timing.Detection())
	}
	return longest
}

// Len is how many there are, for tests.
func (s *Electorates) Len() (n int) {
	for _, alike := range s.all {
		n += len(alike)
	}
	return n
}
