// Groups of a host with the same members and the same rules share one electorate, because a
// host may have very many groups.

package elector

import (
	"fmt"

	"github.com/hustings/hustings/elector/protocol"
)

// electorate is a protocol.Electorate with its host and the number of groups that share it. It
// is the Owner of the protocol.Electorate.
type electorate struct {
	protocol.Electorate
	host   *Host
	key    electorateKey
	groups int // guarded by the host's mu
}

// electorateKey is equal for equal electorates.
type electorateKey struct {
	rules   protocol.Rules
	members string // the printed list
}

// share returns the electorate of a group that joins. The host's mu is held.
func (h *Host) share(own protocol.Electorate) *electorate {
	key := electorateKey{own.Rules, fmt.Sprintf("%#v", own.Members.List())}
	shared := h.electorates[key]
	if shared == nil {
		shared = &electorate{Electorate: own, host: h, key: key}
		shared.Owner = shared
		h.electorates[key] = shared
	}
	shared.groups++
	return shared
}

// unshare is called when a group has ended, or could not join. The host's mu is held.
func (h *Host) unshare(e *electorate) {
	if e.groups--; e.groups == 0 {
		delete(h.electorates, e.key)
	}
}

func (e *Elector) electorate() *electorate { return e.group.Owner.(*electorate) }

func (e *engine) Host() *Host { return (*Elector)(e).Host() }
