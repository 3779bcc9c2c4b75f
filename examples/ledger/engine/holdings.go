// What a node holds while it works: nothing, when all is quiet.
//
// Room, transfers and what is known of followers are given back when the work ends, on each of its ways to end. Whoever
// forgets one of them breaks nothing at first; one day clients wait for room that nobody has, or a disk is full. So the
// simulator looks for what is left when nothing has happened for long.

package engine

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// Holdings count what a node holds for work under way.
type Holdings struct {
	Room      int // for commands
	Commands  int // that wait for a quorum
	Reads     int
	Transfers int // of states, to followers; and their places
	Behind    int // followers that lack something
	Incoming  int // states that are being received, or take the place of those that are there
	Entries   int // in memory or on disk, more than are kept
	Leftovers int // rows of states that are not that of their shard
	Sessions  int // that are over
	Writes    int // that wait for the disk
}

// Holdings are the node's.
func (e *Engine) Holdings() (h Holdings, err error) {
	for _, s := range e.shards {
		if err := s.count(&h); err != nil {
			return h, err
		}
	}
	h.Transfers += len(e.shards[0].transfers) // one for all shards
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	if h.Writes = len(e.disk.then); e.disk.next != nil {
		h.Writes++
	}
	return h, nil
}

// count adds what a shard holds.
func (s *shard) count(h *Holdings) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Room += len(s.room)
	if s.incoming != nil || s.installing {
		h.Incoming++
	}
	l := &s.ledger
	h.Entries += max(0, int(l.end.Index-l.base.Index)-2*int(s.keep)) + max(0, len(l.tail)-2*int(s.inMemory()))
	if o := s.office; o != nil {
		h.Commands += len(o.waiting)
		h.Reads += len(o.reads)
		for _, p := range o.peers {
			if p.transfer != nil {
				h.Transfers++
			}
			if p.catchesUp || p.matched < l.end.Index || p.told < s.committed {
				h.Behind++
			}
		}
	}
	return s.countRows(h)
}

// countRows adds what is on disk and not needed any more.
func (s *shard) countRows(h *Holdings) error {
	own, sessions := s.stateKey(s.generation), s.sessionKey(0)
	rows, err := s.disk.db.NewIter(&pebble.IterOptions{LowerBound: s.key(keyOfState), UpperBound: after(s.key(keyOfState))})
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var open []uint64
	for ok := rows.First(); ok; ok = rows.Next() {
		key := rows.Key()
		switch {
		case !bytes.HasPrefix(key, own):
			h.Leftovers++
		case key[len(own)] == keyOfSessions:
			open = append(open, binary.BigEndian.Uint64(key[len(sessions)-8:]))
		}
	}
	for _, opened := range open { // the last one has ended those that were too old then
		if opened+s.sessions < open[len(open)-1] {
			h.Sessions++
		}
	}
	return rows.Error()
}
