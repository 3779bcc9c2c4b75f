// Who elects, and by which rules: groups of a host that have the same of both share it.

package elector

import (
	"fmt"

	"github.com/hustings/hustings/elector/protocol"
)

// electorate is a protocol.Electorate, whose Owner it is, with the host that has it and how
// many groups share it.
type electorate struct {
	protocol.Electorate
	host   *Host
	key    electorateKey
	groups int // guarded by the host's mu
}

// electorateKey has all that an electorate is made of.
type electorateKey struct {
	rules   protocol.Rules
	members string // spelt out
}

// share is the electorate of a group that joins. The host's mu is held.
func (h *Host) share(who protocol.Electorate) *electorate {
	key := electorateKey{who.Rules, fmt.Sprintf("%#v", who.Members.List())}
	shared := h.electorates[key]
	if shared == nil {
		shared = &electorate{Electorate: who, host: h, key: key}
		shared.Owner = shared
		h.electorates[key] = shared
	}
	shared.groups++
	return shared
}

// unshare is for a group that has ended, or will not begin. The host's mu is held.
func (h *Host) unshare(e *electorate) {
	if e.groups--; e.groups == 0 {
		delete(h.electorates, e.key)
	}
}

// electorate is the one that the group was made with.
func (e *Elector) electorate() *electorate { return e.group.Owner.(*electorate) }

// Host is the host of the Elector.
func (e *engine) Host() *Host { return (*Elector)(e).Host() }
