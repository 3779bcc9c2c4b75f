// The members of a group in a fixed order, and sets of them.

package memberstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxMembers bounds the number of members of a group, voters and observers together.
const MaxMembers = 64

// MaxIDLength bounds the length of a member's id, in bytes.
const MaxIDLength = 255

// Member is one node of a group.
type Member struct {
	// ID names the node. It is unique in the group and compared byte by byte.
	ID string
	// Observer marks a member that follows the leader, but never votes, never counts
	// for a quorum and never deposes a leader.
	Observer bool
}

// String is the id, an observer's in brackets: "n0", "[n3]".
func (m Member) String() string {
	if m.Observer {
		return "[" + m.ID + "]"
	}
	return m.ID
}

// Voters makes a list of members that all vote, the common case.
func Voters(ids ...string) []Member {
	list := make([]Member, len(ids))
	for i, id := range ids {
		list[i] = Member{ID: id}
	}
	return list
}

// Seat is the place of a member in its group's list, counted from 1. All voters come
// before all observers, each sorted by id, so every member of the group gives the
// same voter the same seat.
type Seat uint8

const (
	// Nobody means that there is no such member: no vote, no leader.
	Nobody Seat = 0
	// Stranger is any node that is not in the group. A vote for a member that has
	// since left is a vote for a Stranger: it cannot be given again.
	Stranger Seat = MaxMembers + 1
)

// Set is a set of seats.
type Set uint64

// SetOf makes a set of seats.
func SetOf(seats ...Seat) Set {
	var set Set
	for _, s := range seats {
		set = set.With(s)
	}
	return set
}

// With returns the set with this seat added. Nobody and Stranger are never in a set.
func (set Set) With(s Seat) Set { return set | bit(s) }

// Without returns the set with this seat removed.
func (set Set) Without(s Seat) Set { return set &^ bit(s) }

// Has says whether the seat is in the set.
func (set Set) Has(s Seat) bool { return set&bit(s) != 0 }

// Len counts the seats in the set.
func (set Set) Len() int { return bits.OnesCount64(uint64(set)) }

// Seats yields the seats of the set in ascending order.
func (set Set) Seats() iter.Seq[Seat] {
	return func(yield func(Seat) bool) {
		for rest := set; rest != 0; rest &= rest - 1 {
			if !yield(Seat(bits.TrailingZeros64(uint64(rest)) + 1)) {
				return
			}
		}
	}
}

// bit is the seat's bit, and none for Nobody and Stranger: shifts of 64 and
// more yield zero in Go, and Nobody - 1 is such a shift.
func bit(s Seat) Set { return 1 << (s - 1) }

// Members is the list of a group. The zero value is an empty group; a usable
// one comes from [NewMembers]. It is immutable and may be shared.
type Members struct {
	ids      []string // voters sorted by id, then observers sorted by id
	voters   int
	digest   uint64
	bySuffix *[suffixes]Seat // by a hash of the id's last byte: a seat with that hash; nil: no members
}

// suffixes is the number of hashes of an id's last byte. Most ids of a group differ in that byte.
const suffixes = 32

func suffix(id string) int { return int(id[len(id)-1] % suffixes) }

// NewMembers checks and sorts the members of a group.
func NewMembers(list []Member) (Members, error) {
	var voters, observers []string
	var problems []error
	seen := make(map[string]bool, len(list))
	for i, m := range list {
		switch {
		case m.ID == "":
			problems = append(problems, fmt.Errorf("member %d has an empty id", i))
		case len(m.ID) > MaxIDLength:
			problems = append(problems, fmt.Errorf("member %d has an id of %d bytes, %d is the most", i, len(m.ID), MaxIDLength))
		case !utf8.ValidString(m.ID):
			problems = append(problems, fmt.Errorf("member %d has an id that is not valid UTF-8: %q", i, m.ID))
		case seen[m.ID]:
			problems = append(problems, fmt.Errorf("member %q is listed twice", m.ID))
		case m.Observer:
			observers = append(observers, m.ID)
		default:
			voters = append(voters, m.ID)
		}
		seen[m.ID] = true
	}
	if len(list) > MaxMembers {
		problems = append(problems, fmt.Errorf("%d members, %d is the most", len(list), MaxMembers))
	}
	if len(voters) == 0 {
		problems = append(problems, errors.New("no voters"))
	}
	if err := errors.Join(problems...); err != nil {
		return Members{}, err
	}
	slices.Sort(voters)
	slices.Sort(observers)
	m := Members{ids: append(voters, observers...), voters: len(voters), digest: digest(voters), bySuffix: new([suffixes]Seat)}
	for i, id := range m.ids {
		m.bySuffix[suffix(id)] = Seat(i + 1)
	}
	return m, nil
}

// digest is a fingerprint of the voters. It leaves out observers, so that their list may
// differ from member to member.
func digest(voters []string) uint64 {
	h := fnv.New64a()
	for _, id := range voters {
		_ = binary.Write(h, binary.BigEndian, uint32(len(id)))
		_, _ = h.Write([]byte(id))
	}
	return h.Sum64()
}

// Len counts all members.
func (m Members) Len() int { return len(m.ids) }

// Seat finds the seat of a member by its id. An unknown id is a Stranger's, an
// empty one is Nobody's.
func (m Members) Seat(id string) Seat {
	switch {
	case id == "":
		return Nobody
	case m.bySuffix == nil:
		return Stranger
	}
	if s := m.bySuffix[suffix(id)]; s != Nobody && m.ids[s-1] == id {
		return s
	}
	return m.search(id)
}

func (m Members) search(id string) Seat {
	if i := slices.Index(m.ids, id); i >= 0 {
		return Seat(i + 1)
	}
	return Stranger
}

// ID returns the id of the member with this seat, empty for Nobody and Stranger.
func (m Members) ID(s Seat) string {
	if s == Nobody || int(s) > len(m.ids) {
		return ""
	}
	return m.ids[s-1]
}

// Voters returns the set of the members that vote.
func (m Members) Voters() Set { return first(m.voters) }

// All returns the set of all members.
func (m Members) All() Set { return first(len(m.ids)) }

// first is the set of the first n seats.
func first(n int) Set { return 1<<n - 1 }

// List returns the members in the order of their seats.
func (m Members) List() []Member {
	list := make([]Member, len(m.ids))
	for i, id := range m.ids {
		list[i] = Member{ID: id, Observer: i >= m.voters}
	}
	return list
}

// Equal says whether the two lists have the same voters and the same observers.
func (m Members) Equal(other Members) bool {
	return m.voters == other.voters && slices.Equal(m.ids, other.ids)
}

// Digest is a fingerprint of the voters. Members whose lists of voters differ count
// different quorums and must ignore each other's messages.
func (m Members) Digest() uint64 { return m.digest }

// String lists the ids, observers in brackets: "n0 n1 n2 [n3]".
func (m Members) String() string {
	words := make([]string, m.Len())
	for i, member := range m.List() {
		words[i] = member.String()
	}
	return strings.Join(words, " ")
}

// Quorum is the number of voters that make a majority.
func Quorum(voters Set) int { return voters.Len()/2 + 1 }
