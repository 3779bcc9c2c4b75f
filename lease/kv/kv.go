// Package kv keeps leases in a key-value store that only has compare-and-swap and keys that
// expire.
//
// A lease is two keys. The record, which holds the term, never expires, because the fencing
// token would vanish with it. The sign of life says that the holder is alive; it belongs to
// one holder in one term, and expires. Its expiry serves as the database's clock for this
// lease.
//
// The order of steps replaces a transaction over both. A holder first prolongs its sign of
// life and then swaps the record. A claimant first reads the record, then looks for the sign
// of life, and then swaps the record that it read. So a claimant that found no sign of life
// loses to a renewal that came in between.
//
// The store must be linearizable, and must not forget what it has acknowledged.
package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/internal/row"
)

// KV is the interface of a key-value store. It compares keys byte by byte and is safe for
// concurrent use, and its methods return soon after their context has ended.
type KV interface {
	// Get returns those of the keys that exist.
	Get(ctx context.Context, keys []string) (map[string]Entry, error)
	// Swap makes each change whose key has the old value that the change names, and
	// returns which were made. Each change is one atomic step. The keys are distinct
	// and do not expire.
	Swap(ctx context.Context, changes []Change) (done []bool, err error)
	// Live creates or refreshes keys, with any value, so that each expires after the
	// given time or later.
	Live(ctx context.Context, keys map[string]time.Duration) error
	// Keys returns the keys that begin with a prefix, in any order.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Entry is the content of a key.
type Entry struct {
	Value []byte
	// Left is the time until the key expires, lease.LeftUnknown if the store does not
	// say when; it is not positive if the key never expires.
	Left time.Duration
}

// Change replaces the value of a key. Old is the value that it must have, nil if the key must
// not exist.
type Change struct {
	Key      string
	Old, New []byte
}

// Store is a [lease.Store] over a KV.
type Store struct {
	kv     KV
	prefix string
}

var (
	_ lease.Store  = (*Store)(nil)
	_ lease.Lister = (*Store)(nil)
)

// New makes a store whose keys begin with a prefix.
func New(kv KV, prefix string) (*Store, error) {
	if kv == nil {
		return nil, &elector.ConfigError{Field: "KV", Problem: "is nil"}
	}
	return &Store{kv, prefix}, nil
}

// record is a stored row. Its Until is 0 if the lease was released and 1 otherwise, because
// there are only two times here, see now.
type record struct {
	row.Row
	// Life is the key that is the last holder's sign of life.
	Life string `json:"life"`

	stored []byte // the value that was read; nil if there was none
}

// now returns 0 while there is a sign of life, and a time after every expiry otherwise.
func now(left time.Duration) int64 {
	if left > 0 {
		return 0
	}
	return math.MaxInt32
}

func (s *Store) key(name string) string { return s.prefix + "record/" + name }

func (s *Store) life(name, holder string, r row.Row) string {
	return fmt.Sprintf("%slife/%d/%d/%s/%s", s.prefix, r.Term, len(name), name, holder)
}

// records reads some leases.
func (s *Store) records(ctx context.Context, names ...string) (map[string]record, error) {
	if len(names) == 0 {
		return nil, ctx.Err()
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = s.key(name)
	}
	found, err := s.kv.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	all := make(map[string]record, len(found))
	for i, name := range names {
		if e, ok := found[keys[i]]; ok {
			r := record{stored: e.Value}
			if err := json.Unmarshal(e.Value, &r); err != nil {
				return nil, fmt.Errorf("kv: key %q: %w", keys[i], err)
			}
			all[name] = r
		}
	}
	return all, nil
}

// change returns the change of a record to a new row.
func (s *Store) change(name string, r record, next row.Row) Change {
	r.Row = next
	r.Until = min(next.Until, 1)
	text, _ := json.Marshal(r) // texts and numbers cannot fail
	return Change{Key: s.key(name), Old: r.stored, New: text}
}

func (s *Store) swap(ctx context.Context, name string, r record, next row.Row) (bool, error) {
	done, err := s.kv.Swap(ctx, []Change{s.change(name, r, next)})
	return err == nil && done[0], err
}

// Read implements [lease.Store].
func (s *Store) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	records, err := s.records(ctx, names...)
	if err != nil {
		return nil, err
	}
	lives := make([]string, 0, len(records))
	for _, r := range records {
		if r.Until != 0 && r.Life != "" {
			lives = append(lives, r.Life)
		}
	}
	alive, err := s.lives(ctx, lives)
	if err != nil {
		return nil, err
	}
	var all []lease.Record
	for name, r := range records {
		seen := r.Record(name, 0)
		seen.Left = alive[r.Life].Left
		all = append(all, seen)
	}
	return all, nil
}

func (s *Store) lives(ctx context.Context, keys []string) (map[string]Entry, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return s.kv.Get(ctx, keys)
}

// Acquire implements [lease.Store].
func (s *Store) Acquire(ctx context.Context, c lease.Claim) (won bool, err error) {
	for range maxTries {
		if won, err = s.claim(ctx, c); !errors.Is(err, errContended) {
			break
		}
	}
	return won, err
}

// claim makes one attempt. Its error is errContended if the record has changed meanwhile.
func (s *Store) claim(ctx context.Context, c lease.Claim) (won bool, err error) {
	records, err := s.records(ctx, c.Name)
	if err != nil {
		return false, err
	}
	r := records[c.Name]
	var alive map[string]Entry
	if r.Life != "" && !c.Watched {
		if alive, err = s.kv.Get(ctx, []string{r.Life}); err != nil {
			return false, err
		}
	}
	next, won := r.Acquire(c, now(alive[r.Life].Left))
	if !won {
		return false, nil
	}
	r.Life = s.life(c.Name, c.Holder, next)
	if err := s.kv.Live(ctx, map[string]time.Duration{r.Life: c.TTL}); err != nil {
		return false, err
	}
	won, err = s.swap(ctx, c.Name, r, next)
	if err == nil && !won {
		err = errContended
	}
	return won, err
}

// Renew implements [lease.Store]. It takes three round trips for all leases, or for each batch
// that the store takes at once, and three more for those whose records have changed meanwhile.
func (s *Store) Renew(ctx context.Context, holder string, held []lease.Held) (kept []string, err error) {
	for range maxTries {
		if len(held) == 0 {
			return kept, nil
		}
		var renewed []string
		if renewed, held, err = s.renew(ctx, holder, held); err != nil {
			return nil, err
		}
		kept = append(kept, renewed...)
	}
	return nil, errContended
}

// renew makes one attempt; again are the leases whose records have changed meanwhile.
func (s *Store) renew(ctx context.Context, holder string, held []lease.Held) (kept []string, again []lease.Held, err error) {
	names := make([]string, len(held))
	for i, h := range held {
		names[i] = h.Name
	}
	records, err := s.records(ctx, names...)
	if err != nil {
		return nil, nil, err
	}
	lives := map[string]time.Duration{}
	var changes []Change
	var changed []lease.Held
	for _, h := range held {
		r := records[h.Name]
		next, ok := r.Renew(holder, h.Term, 0)
		if !ok {
			continue
		}
		lives[r.Life] = time.Duration(r.TTL) * time.Microsecond
		changes, changed = append(changes, s.change(h.Name, r, next)), append(changed, h)
	}
	if len(changes) == 0 {
		return nil, nil, nil
	}
	if err := s.kv.Live(ctx, lives); err != nil {
		return nil, nil, err
	}
	done, err := s.kv.Swap(ctx, changes)
	if err != nil {
		return nil, nil, err
	}
	for i, h := range changed {
		if done[i] {
			kept = append(kept, h.Name)
		} else {
			again = append(again, h)
		}
	}
	return kept, again, nil
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, holder string, held lease.Held) error {
	return s.update(ctx, held.Name, func(r row.Row) (row.Row, bool) { return r.Release(holder, held.Term) })
}

// Force implements [lease.Store].
func (s *Store) Force(ctx context.Context, name, heir string) error {
	return s.update(ctx, name, func(r row.Row) (row.Row, bool) { return r.Force(heir), true })
}

// Names implements [lease.Lister].
func (s *Store) Names(ctx context.Context) ([]string, error) {
	keys, err := s.kv.Keys(ctx, s.key(""))
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, s.key(""))
	}
	return keys, nil
}

// maxTries bounds how often a step begins anew because the record has changed.
const maxTries = 100

var errContended = errors.New("kv: other clients kept changing the record")

// update changes a record as next says, if next returns true.
func (s *Store) update(ctx context.Context, name string, next func(row.Row) (row.Row, bool)) error {
	for range maxTries {
		records, err := s.records(ctx, name)
		if err != nil {
			return err
		}
		r := records[name]
		after, ok := next(r.Row)
		if !ok {
			return nil
		}
		if done, err := s.swap(ctx, name, r, after); done || err != nil {
			return err
		}
	}
	return errContended
}
