// Who elects, and by which rules: what many groups of a node have in common.

package protocol

import "github.com/hustings/hustings/memberstate"

// Electorate is shared by the groups of a node that have the same members and the same
// rules. Its exported fields do not change.
type Electorate struct {
	Members memberstate.Members
	Rules   Rules
	Owner   any // whoever drives the node; no group needs room to remember it

	peers []*peer // by seat; filled by the node as they are first written to
}
