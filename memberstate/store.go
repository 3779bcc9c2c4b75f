// The contract between an elector and the disk.

package memberstate

import (
	"fmt"
	"time"
)

// Record is the hard state of one group at one node, as a store keeps it. Seats
// change with the list of members, so the vote is kept by id.
type Record struct {
	Group   string
	Term    Term
	Vote    string        // empty: not voted
	Promise time.Duration // see HardState
	// Voters is the digest of the group's voters when the record was written. A
	// member that restarts with other voters would count other quorums.
	Voters uint64
}

// String returns the record in one line, as in
//
//	"orders": term 7, voted for "n0", promise 285ms, voters 0123456789abcdef
func (r Record) String() string {
	text := fmt.Sprintf("%q: term %d", r.Group, r.Term)
	if r.Vote != "" {
		text += fmt.Sprintf(", voted for %q", r.Vote)
	}
	if r.Promise > 0 {
		text += fmt.Sprintf(", promise %v", r.Promise)
	}
	return text + fmt.Sprintf(", voters %016x", r.Voters)
}

// Store keeps the hard state of all groups of one node, and one record of the node itself, whose group is
// empty (see CountStart and KeepDrained). It is safe for concurrent use.
//
// A member that forgets a vote can vote twice, and two leaders of one term lose
// committed entries. Hence the contract:
//
//   - When Save returns nil, every record of the batch is durable: no crash of
//     the process or the machine loses it.
//   - When Save returns an error, any record of the batch may be durable or
//     not. The caller must not act on any of them, now or later, and must not
//     try again: a disk that failed to sync may report success the next time
//     without having written anything.
//   - A crash during Save leaves each record either as a whole or not at all. It is
//     never torn, and no older record returns in place of an acknowledged one.
type Store interface {
	// Load returns the last record saved for a group, and false if there is none.
	Load(group string) (Record, bool, error)
	// Save makes a batch of records durable, at most one for each group. It
	// does not keep the slice.
	Save(batch []Record) error
}
