// The state that the ledger makes: keys with values, and what was done last in each session. All members apply the same
// entries in the same order, so all have the same state.

package engine

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
)

// atOnce is how many entries are applied in one batch.
const atOnce = 256

// apply carries out the commands that are committed and on this disk. What is not could be missing after a crash, when
// the state already has it.
func (s *shard) apply() error {
	for upto := min(s.committed, s.ledger.durable); s.applied < upto && !s.installing; {
		last := min(upto, s.applied+atOnce)
		b := s.disk.db.NewIndexedBatch()
		replies := make([]*ledgerpb.Reply, 0, last-s.applied)
		for i := s.applied + 1; i <= last; i++ {
			e, err := s.entry(i)
			if err != nil {
				return err
			}
			reply, err := s.do(b, e)
			if err != nil {
				return err
			}
			replies = append(replies, reply)
		}
		if err := s.setApplied(b, last); err != nil {
			return err
		}
		if err := s.writeNow(b); err != nil {
			return err
		}
		s.reply(s.applied+1, replies)
		s.applied = last
	}
	return nil
}

// reply tells those who wait for the commands from an index on.
func (s *shard) reply(index uint64, replies []*ledgerpb.Reply) {
	o := s.office
	if o == nil {
		return
	}
	for i, r := range replies {
		if waits := o.waiting[index+uint64(i)]; waits != nil {
			waits <- r
			<-s.room
			delete(o.waiting, index+uint64(i))
		}
	}
}

func (s *shard) setApplied(b *pebble.Batch, index uint64) error {
	return b.Set(s.key(keyOfApplied), encode(&ledgerpb.Applied{Upto: index, Generation: s.generation}), nil)
}

// do carries out one entry.
func (s *shard) do(b *pebble.Batch, e *ledgerpb.Entry) (*ledgerpb.Reply, error) {
	c := e.Command
	switch {
	case c == nil:
		return nil, nil
	case c.GetOpen() != nil:
		return s.open(b, e.Index)
	case c.Session == 0:
		r, err := s.change(b, c)
		return done(r), err
	}
	key := s.sessionKey(c.Session)
	last := new(ledgerpb.Done)
	found, err := get(b, key, last)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return refused("session %d is not open, or not any more", c.Session), nil
	case c.Number == last.Number:
		return done(last.Result), nil // it was carried out before
	case c.Number < last.Number:
		return refused("command %d of session %d, after command %d", c.Number, c.Session, last.Number), nil
	}
	r, err := s.change(b, c)
	if err != nil {
		return nil, err
	}
	return done(r), b.Set(key, encode(&ledgerpb.Done{Number: c.Number, Result: r}), nil)
}

// open opens a session, and forgets the oldest.
func (s *shard) open(b *pebble.Batch, index uint64) (*ledgerpb.Reply, error) {
	if index > s.sessions {
		if err := b.DeleteRange(s.sessionKey(0), s.sessionKey(index-s.sessions), nil); err != nil {
			return nil, err
		}
	}
	return done(&ledgerpb.Result{Session: index}), b.Set(s.sessionKey(index), encode(&ledgerpb.Done{}), nil)
}

// change changes a value.
func (s *shard) change(b *pebble.Batch, c *ledgerpb.Command) (*ledgerpb.Result, error) {
	switch does := c.Does.(type) {
	case *ledgerpb.Command_Put:
		return &ledgerpb.Result{}, b.Set(s.valueKey(does.Put.Key), does.Put.Value, nil)
	case *ledgerpb.Command_Delete:
		return &ledgerpb.Result{}, b.Delete(s.valueKey(does.Delete.Key), nil)
	case *ledgerpb.Command_Swap:
		return s.swap(b, does.Swap)
	}
	return &ledgerpb.Result{}, nil
}

func (s *shard) swap(b *pebble.Batch, c *ledgerpb.Swap) (*ledgerpb.Result, error) {
	key := s.valueKey(c.Key)
	now, closer, err := b.Get(key)
	absent := errors.Is(err, pebble.ErrNotFound)
	if err != nil && !absent {
		return nil, err
	}
	same := absent == c.Absent && bytes.Equal(now, c.Old)
	if closer != nil {
		_ = closer.Close()
	}
	if !same {
		return &ledgerpb.Result{}, nil
	}
	return &ledgerpb.Result{Found: true}, b.Set(key, c.Value, nil)
}

// get reads a record, if there is one.
func get(from pebble.Reader, key []byte, into proto.Message) (found bool, err error) {
	value, closer, err := from.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	defer func() { _ = closer.Close() }()
	return true, proto.Unmarshal(value, into)
}
