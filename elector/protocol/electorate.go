// An electorate: the members and the rules by which they elect, which many groups of a node share.

package protocol

import "github.com/hustings/hustings/memberstate"

// Electorate is shared by the groups of a node that have the same members and the same
// rules when they join. Its exported fields do not change once a group has been made with it.
type Electorate struct {
	Members memberstate.Members
	Rules   Rules
	Owner   any // the node's driver; so no group needs room to remember it

	peers       []*peer // by seat; the node fills it when it first sends to a member
	groups      int     // that take part
	maintenance Maintenance
}
