// A shard's ledger: entries on disk, of which the newest are in memory, too. An entry belongs to the ledger as soon as
// it is in memory; it is acknowledged when it is on disk.

package engine

import (
	"fmt"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
)

// ledger is what is known of it in memory.
type ledger struct {
	base    memberstate.Position // below the first entry
	end     memberstate.Position
	durable uint64            // up to here it is on disk
	runs    []run             // which terms wrote it
	tail    []*ledgerpb.Entry // the newest entries, up to the end
	bytes   int               // of these
}

// mostBytes is from how many on entries leave memory earlier.
const mostBytes = 16 << 20

// run is a row of entries of one term.
type run struct {
	term  memberstate.Term
	first uint64
}

// term is that of an entry; 0: there is no such entry, or not any more.
func (l *ledger) term(index uint64) memberstate.Term {
	switch {
	case index == l.base.Index:
		return l.base.Term
	case index < l.base.Index || index > l.end.Index:
		return 0
	}
	return l.runs[l.run(index)].term
}

// run is which of the runs an entry is in.
func (l *ledger) run(index uint64) int {
	return sort.Search(len(l.runs), func(i int) bool { return l.runs[i].first > index }) - 1
}

// has says whether the ledger has an entry, and with it all that the entry's writer had before it.
func (l *ledger) has(p memberstate.Position) bool {
	return p.Index < l.base.Index || p.Index <= l.end.Index && l.term(p.Index) == p.Term
}

// append adds an entry at the end.
func (l *ledger) append(e *ledgerpb.Entry) {
	term := memberstate.Term(e.Term)
	if len(l.runs) == 0 || l.runs[len(l.runs)-1].term != term {
		l.runs = append(l.runs, run{term, e.Index})
	}
	l.tail = append(l.tail, e)
	l.bytes += proto.Size(e)
	l.end = memberstate.Position{Term: term, Index: e.Index}
}

// cut takes all entries above an index away.
func (l *ledger) cut(index uint64) {
	gone := min(l.end.Index-index, uint64(len(l.tail)))
	l.remember(l.tail[:uint64(len(l.tail))-gone])
	l.end = memberstate.Position{Term: l.term(index), Index: index}
	l.runs = l.runs[:l.run(index)+1]
	l.durable = min(l.durable, index)
}

// remember keeps no more than these in memory.
func (l *ledger) remember(tail []*ledgerpb.Entry) {
	l.tail, l.bytes = slices.Clone(tail), 0 // others may be sending the old ones
	for _, e := range tail {
		l.bytes += proto.Size(e)
	}
}

// restart empties it, above a position.
func (l *ledger) restart(base memberstate.Position) {
	*l = ledger{base: base, end: base}
}

// forget takes the entries up to an index away, which nobody needs any more.
func (l *ledger) forget(index uint64) {
	at := l.run(index)
	l.base = memberstate.Position{Term: l.term(index), Index: index}
	l.runs = slices.Clone(l.runs[max(at, 0):])
	if len(l.runs) > 0 {
		l.runs[0].first = max(l.runs[0].first, index+1)
	}
	if len(l.runs) > 0 && l.runs[0].first > l.end.Index || len(l.runs) > 1 && l.runs[0].first >= l.runs[1].first {
		l.runs = l.runs[1:]
	}
}

// trim drops entries from memory that are on disk and applied. Of these the newest stay, so many, or half if they are large.
func (l *ledger) trim(applied, stay uint64) {
	has := uint64(len(l.tail))
	if l.bytes >= mostBytes {
		stay = min(stay, has/2)
	}
	if has < 2*stay {
		return
	}
	first := l.end.Index + 1 - has
	if unneeded := min(l.durable, applied, l.end.Index-stay); unneeded >= first {
		l.remember(l.tail[unneeded-first+1:])
	}
}

// entry reads one entry, from memory if it is there.
func (s *shard) entry(index uint64) (*ledgerpb.Entry, error) {
	l := &s.ledger
	if n := len(l.tail); n > 0 && index >= l.tail[0].Index {
		return l.tail[index-l.tail[0].Index], nil
	}
	e := new(ledgerpb.Entry)
	found, err := get(s.disk.db, s.entryKey(index), e)
	if err == nil && !found {
		err = pebble.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d of %s: %w", index, s.group, err)
	}
	return e, nil
}

// save writes entries that have just been appended to disk, and calls a function when they are there. It does not if they belong to the ledger
// no more by then, because they were cut or a state has taken their place: nobody may be told that they are there.
func (s *shard) save(entries []*ledgerpb.Entry, then func()) {
	last := s.ledger.end
	s.disk.write(func(b *pebble.Batch) error {
		for _, e := range entries {
			if err := b.Set(s.entryKey(e.Index), encode(e), nil); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		stay := last.Index > s.ledger.base.Index && s.ledger.term(last.Index) == last.Term
		if stay {
			s.ledger.durable = max(s.ledger.durable, last.Index)
		}
		s.advance()
		if stay && then != nil {
			then()
		}
	})
}

// cutSaved takes all entries above an index away, from the disk, too.
func (s *shard) cutSaved(index uint64) {
	s.ledger.cut(index)
	s.disk.write(func(b *pebble.Batch) error {
		return b.DeleteRange(s.entryKey(index+1), after(s.key(keyOfEntries)), nil)
	}, nil)
}

// inMemory is how many entries stay in memory.
func (s *shard) inMemory() uint64 { return min(s.keep, 1024) }

// compact forgets entries that have been applied long ago, and that no follower needs which is being sent the state. It forgets many at a time.
func (s *shard) compact() {
	upto := s.applied
	if o := s.office; o != nil {
		upto = min(upto, o.needed()+s.keep)
	}
	if upto < s.ledger.base.Index+2*s.keep {
		return
	}
	upto -= s.keep
	s.ledger.forget(upto)
	base := s.ledger.base
	s.disk.write(func(b *pebble.Batch) error {
		if err := b.Set(s.key(keyOfBase), encode(position(base)), nil); err != nil {
			return err
		}
		return b.DeleteRange(s.entryKey(0), s.entryKey(base.Index+1), nil)
	}, nil)
}

// position is a position in a message.
func position(p memberstate.Position) *ledgerpb.Position {
	return &ledgerpb.Position{Term: uint64(p.Term), Index: p.Index}
}

// positionOf is the position of a message.
func positionOf(p *ledgerpb.Position) memberstate.Position {
	return memberstate.Position{Term: memberstate.Term(p.GetTerm()), Index: p.GetIndex()}
}

// load reads the ledger from disk.
func (s *shard) load() error {
	if err := s.loadRecords(); err != nil {
		return err
	}
	entries, err := s.disk.db.NewIter(&pebble.IterOptions{LowerBound: s.entryKey(0), UpperBound: after(s.key(keyOfEntries))})
	if err != nil {
		return err
	}
	defer func() { _ = entries.Close() }()
	l := &s.ledger
	for ok := entries.First(); ok; ok = entries.Next() {
		e := new(ledgerpb.Entry)
		if err := proto.Unmarshal(entries.Value(), e); err != nil {
			return fmt.Errorf("an entry of %s after %d: %w", s.group, l.end.Index, err)
		}
		if e.Index != l.end.Index+1 {
			return fmt.Errorf("%s: after entry %d comes %d", s.group, l.end.Index, e.Index)
		}
		l.append(e)
		l.durable = e.Index
		l.trim(s.applied, s.inMemory())
	}
	return entries.Error()
}

// loadRecords reads where the ledger begins, and how far the state has come.
func (s *shard) loadRecords() error {
	base, applied := new(ledgerpb.Position), new(ledgerpb.Applied)
	for key, into := range map[byte]proto.Message{keyOfBase: base, keyOfApplied: applied} {
		if _, err := get(s.disk.db, s.key(key), into); err != nil {
			return fmt.Errorf("record %c of %s: %w", key, s.group, err)
		}
	}
	s.ledger.restart(positionOf(base))
	s.ledger.durable = s.ledger.base.Index
	s.applied, s.generation = applied.GetUpto(), applied.GetGeneration()
	s.committed = s.applied
	s.incoming = new(incoming) // if the node was sent a state when it ended, it has to be sent all of it again
	s.dropIncoming()
	return nil
}
