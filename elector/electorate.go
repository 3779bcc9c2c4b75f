// Who elects, and by which rules: what many groups of a host have in common.

package elector

import (
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

// electorate is shared by the groups of a host that have the same members, and
// the same rules. It does not change.
type electorate struct {
	host    *Host
	rules   Rules
	members memberstate.Members
	key     electorateKey
	groups  int // that share it; guarded by the host's mu
}

// electorateKey has all that an electorate is made of.
type electorateKey struct {
	rules   Rules
	members string // spelt out
}

// share is the electorate of a group that joins. The host's mu is held.
func (h *Host) share(r *Rules, members memberstate.Members) *electorate {
	key := electorateKey{*r, fmt.Sprintf("%#v", members.List())}
	shared := h.electorates[key]
	if shared == nil {
		shared = &electorate{host: h, rules: *r, members: members, key: key}
		h.electorates[key] = shared
	}
	shared.groups++
	return shared
}

// forget takes a group out that has ended, or will not begin. The host's mu is held.
func (h *Host) forget(g *group) {
	delete(h.names, g.name)
	g.groups--
	if g.groups == 0 {
		delete(h.electorates, g.key)
	}
}
