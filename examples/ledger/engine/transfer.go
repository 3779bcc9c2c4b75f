// The way of a whole state from a leader to a follower that needs entries which the leader has not got any more. It goes
// in parts, one after another. The follower keeps its old state until the new one is complete on its disk.

package engine

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
)

// mostTransfers bounds those that a node sends at one time, because each keeps old data on the disk.
const mostTransfers = 4

// transfer is what the leader sends.
type transfer struct {
	upto  memberstate.Position
	state *pebble.Snapshot
	rows  *pebble.Iterator
	chunk *ledgerpb.Chunk // which the follower has not answered
	beats int             // since it was sent
	ended func()
}

// patience is for how many beats a follower that is sent the state may answer nothing at all. It does not answer while it syncs the last part.
const patience = 100

// beginTransfer begins to send a follower the state, if it is there. If too many transfers are under way, the next beat tries again.
func (s *shard) beginTransfer(o *office, p *peer) {
	if s.installing || !p.heard {
		return
	}
	select {
	case s.transfers <- struct{}{}:
	default:
		return
	}
	upto := memberstate.Position{Term: s.ledger.term(s.applied), Index: s.applied}
	t := &transfer{upto: upto, state: s.disk.db.NewSnapshot(), ended: func() { <-s.transfers }}
	prefix := s.stateKey(s.generation)
	rows, err := t.state.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		s.fail(err)
		return
	}
	t.rows, p.transfer = rows, t
	o.transfers++
	t.rows.First()
	s.nextChunk(o, p)
}

// nextChunk sends the next part.
func (s *shard) nextChunk(o *office, p *peer) {
	t := p.transfer
	c := &ledgerpb.Chunk{Upto: position(t.upto), Attempt: o.transfers}
	if t.chunk != nil {
		c.Number, c.Attempt = t.chunk.Number+1, t.chunk.Attempt
	}
	prefix := len(s.stateKey(0))
	for size := 0; t.rows.Valid() && size < s.part; t.rows.Next() {
		p := &ledgerpb.Pair{Key: append([]byte(nil), t.rows.Key()[prefix:]...), Value: append([]byte(nil), t.rows.Value()...)}
		c.Pairs = append(c.Pairs, p)
		size += len(p.Key) + len(p.Value)
	}
	if err := t.rows.Error(); err != nil {
		s.fail(err)
		return
	}
	c.Last = !t.rows.Valid()
	t.chunk, t.beats = c, 0
	s.repeatChunk(o, p)
}

// repeatChunk sends the part that has not been answered, after 1, 2, 4, 8 ... beats, because the link may be too slow for more. It gives the follower
// up if that answers nothing for long.
func (s *shard) repeatChunk(o *office, p *peer) {
	if p.silent >= patience {
		p.endTransfer()
		return
	}
	if p.transfer.beats++; p.transfer.beats&(p.transfer.beats-1) != 0 && p.transfer.beats%(patience/2) != 0 {
		return
	}
	s.network.Send(p.id, &ledgerpb.Message{From: s.self, Shard: s.number, Term: uint64(o.term), Says: &ledgerpb.Message_Chunk{Chunk: p.transfer.chunk}})
}

// endTransfer ends it, complete or not.
func (p *peer) endTransfer() {
	if t := p.transfer; t != nil {
		_ = t.rows.Close()
		_ = t.state.Close()
		t.ended()
		p.transfer = nil
	}
}

// heedChunk takes a follower's answer to a part.
func (s *shard) heedChunk(term memberstate.Term, from string, m *ledgerpb.Chunked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, p := s.answered(term, from)
	if p == nil || p.transfer == nil || p.transfer.chunk.Attempt != m.Attempt {
		return
	}
	p.heard, p.age = true, 0
	switch t := p.transfer; {
	case m.Done:
		p.endTransfer()
		p.matched = max(p.matched, t.upto.Index)
		p.catchesUp = true
		p.restart(p.matched + 1)
		s.advance()
		if s.office == o {
			s.sendEntries(o, p)
		}
	case m.Next > t.chunk.Number && !t.chunk.Last:
		s.nextChunk(o, p)
	case m.Next == 0 && t.chunk.Number > 0: // it has lost what it had, and the next beat begins again
		p.endTransfer()
	}
}

// incoming is what a follower has received.
type incoming struct {
	term    memberstate.Term
	attempt uint64
	next    uint64 // part
	saved   uint64 // parts
}

// isNewer says whether a part is of a later attempt. A part of an earlier one is late.
func (in *incoming) isNewer(term memberstate.Term, c *ledgerpb.Chunk) bool {
	return in == nil || term > in.term || term == in.term && c.Attempt > in.attempt
}

// acceptChunk takes a part, if its leader may still write here.
func (s *shard) acceptChunk(term memberstate.Term, from string, c *ledgerpb.Chunk) {
	if positionOf(c.Upto).Term <= term {
		s.obey(term, from, func() { s.takeChunk(term, from, c) })
	}
}

func (s *shard) takeChunk(term memberstate.Term, from string, c *ledgerpb.Chunk) {
	upto := positionOf(c.Upto)
	answer := func(m *ledgerpb.Chunked) {
		m.Attempt = c.Attempt
		s.network.Send(from, &ledgerpb.Message{From: s.self, Shard: s.number, Term: uint64(term), Says: &ledgerpb.Message_Chunked{Chunked: m}})
	}
	if upto.Index <= s.committed || s.ledger.has(upto) && upto.Index <= s.ledger.durable {
		s.dropIncoming()
		answer(&ledgerpb.Chunked{Done: upto.Index <= s.ledger.durable}) // not yet: it is asked again
		return
	}
	in := s.incoming
	if in.isNewer(term, c) {
		if c.Number != 0 {
			answer(&ledgerpb.Chunked{})
			return
		}
		in = &incoming{term: term, attempt: c.Attempt}
		s.dropIncoming()
		s.incoming = in
	}
	switch {
	case c.Attempt != in.attempt || term != in.term: // it is late
		return
	case c.Number != in.next:
		answer(&ledgerpb.Chunked{Next: max(in.saved, 1)})
		return
	}
	in.next++
	s.fed = true
	s.disk.write(func(b *pebble.Batch) error {
		for _, p := range c.Pairs {
			if err := b.Set(append(s.stateKey(s.generation+1), p.Key...), p.Value, nil); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if in.saved++; !c.Last {
			answer(&ledgerpb.Chunked{Next: in.saved})
		}
	})
	if c.Last {
		s.install(upto, func() { answer(&ledgerpb.Chunked{Done: true}) })
	}
}

// dropIncoming takes away what has been received of a state that will not be completed.
func (s *shard) dropIncoming() {
	if s.incoming == nil {
		return
	}
	s.incoming = nil
	s.disk.write(func(b *pebble.Batch) error {
		return b.DeleteRange(s.stateKey(s.generation+1), s.stateKey(s.generation+2), nil)
	}, nil)
}

// install makes the state that has been received that of the shard. The ledger begins anew after it.
func (s *shard) install(upto memberstate.Position, then func()) {
	s.installing, s.incoming = true, nil
	s.ledger.restart(upto)
	s.committed = max(s.committed, upto.Index)
	s.disk.write(func(b *pebble.Batch) error {
		for _, change := range []func() error{
			func() error { return b.Set(s.key(keyOfBase), encode(position(upto)), nil) },
			func() error { return b.DeleteRange(s.entryKey(0), after(s.key(keyOfEntries)), nil) },
			func() error { return b.DeleteRange(s.stateKey(0), s.stateKey(s.generation+1), nil) },
			func() error {
				return b.Set(s.key(keyOfApplied), encode(&ledgerpb.Applied{Upto: upto.Index, Generation: s.generation + 1}), nil)
			},
		} {
			if err := change(); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.installing, s.applied = false, upto.Index
		s.generation++
		s.ledger.durable = max(s.ledger.durable, upto.Index)
		then()
		s.advance()
	})
}
