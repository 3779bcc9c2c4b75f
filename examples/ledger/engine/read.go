// Reads. A value is what it was at some moment between question and answer, and all writes are in it that were
// acknowledged before the question.

package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
)

// read waits until a quorum has confirmed that this node still led when it was asked.
type read struct {
	round uint64 // the followers' answers to it are later than the question
	index uint64 // what has to be applied
	done  chan struct{}
	sure  bool
}

// look answers a read: at once if the node holds the lease, and otherwise when a quorum has answered.
func (s *shard) look(ctx context.Context, r *ledgerpb.Read) *ledgerpb.Reply {
	s.awaitOffice(ctx)
	if !r.Quorum {
		if reply := s.lookByLease(r.Key); reply != nil {
			return reply
		}
	}
	s.mu.Lock()
	o := s.serving()
	if o == nil {
		s.mu.Unlock()
		return notLeader()
	}
	waits := s.ask(o)
	s.mu.Unlock()
	select {
	case <-waits.done:
	case <-ctx.Done():
		return unknown("%v", context.Cause(ctx))
	}
	if !waits.sure {
		return notLeader()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.installing { // another one has led since
		return notLeader()
	}
	return s.value(r.Key)
}

// lookByLease reads the value first and looks at the lease then: if it holds, nobody else has led until now, so nothing
// newer can have been acknowledged. Nil: it cannot say.
func (s *shard) lookByLease(key []byte) *ledgerpb.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.serving()
	if o == nil || s.applied < o.began {
		return nil // commands of earlier leaders may not be applied yet
	}
	reply := s.value(key)
	if term, _, held := s.elector.Lease(); held && term == o.term {
		return reply
	}
	return nil
}

// ask has a question go to all followers, with the next round: while one is on its way, reads gather.
func (s *shard) ask(o *office) *read {
	r := &read{round: o.round + 1, index: max(s.committed, o.began), done: make(chan struct{})}
	o.reads = append(o.reads, r)
	s.answerReads(o)
	return r
}

// answerReads ends the waiting of those that may be answered, which are the first ones. When a quorum has answered a round, the next one begins.
func (s *shard) answerReads(o *office) {
	if len(o.reads) == 0 {
		return
	}
	rounds := []uint64{o.round + 1} // the leader answers itself
	for _, p := range o.peers {
		if p.votes {
			rounds = append(rounds, p.round)
		}
	}
	sure := reached(rounds)
	for len(o.reads) > 0 && o.reads[0].round <= sure && o.reads[0].index <= s.applied {
		o.reads[0].sure = true
		close(o.reads[0].done)
		o.reads = o.reads[1:]
	}
	if n := len(o.reads); n > 0 && o.reads[n-1].round > o.round && sure >= o.round {
		o.round++
		for _, p := range o.peers {
			s.sendRound(o, p)
		}
	}
}

// value is what the state has for a key.
func (s *shard) value(key []byte) *ledgerpb.Reply {
	value, closer, err := s.disk.db.Get(s.valueKey(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return done(&ledgerpb.Result{})
	}
	if err != nil {
		s.fail(err)
		return unknown("%v", err)
	}
	defer func() { _ = closer.Close() }()
	return done(&ledgerpb.Result{Found: true, Value: append([]byte(nil), value...)})
}

func done(r *ledgerpb.Result) *ledgerpb.Reply {
	return &ledgerpb.Reply{Says: &ledgerpb.Reply_Result{Result: r}}
}

// Digest is a fingerprint of a shard's state, the same at all members that have applied the same entries.
func (e *Engine) Digest(shard uint32) []byte {
	s := e.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	h := sha256.New()
	prefix := s.stateKey(s.generation)
	rows, err := s.disk.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		s.fail(err)
		return nil
	}
	defer func() { _ = rows.Close() }()
	for ok := rows.First(); ok; ok = rows.Next() {
		_, _ = fmt.Fprintf(h, "%q=%q\n", rows.Key()[len(prefix):], rows.Value()) // a hash takes everything
	}
	return h.Sum(nil)
}
