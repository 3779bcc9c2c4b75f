package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
)

// memory is a KV, for one goroutine at a time.
type memory struct {
	values map[string]string
	ends   map[string]time.Time // of the keys that expire
	before func(method string) error
	calls  []string
}

func (m *memory) begin(ctx context.Context, method string) error {
	m.calls = append(m.calls, method)
	if m.before != nil {
		if err := m.before(method); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *memory) get(key string) (value string, ok bool) {
	if end, expires := m.ends[key]; expires && !time.Now().Before(end) {
		return "", false
	}
	value, ok = m.values[key]
	return value, ok
}

func (m *memory) Get(ctx context.Context, keys []string) (map[string]kv.Entry, error) {
	if err := m.begin(ctx, "Get"); err != nil {
		return nil, err
	}
	found := map[string]kv.Entry{}
	for _, key := range keys {
		if value, ok := m.get(key); ok {
			e := kv.Entry{Value: []byte(value)}
			if end, expires := m.ends[key]; expires {
				e.Left = time.Until(end)
			}
			found[key] = e
		}
	}
	return found, nil
}

func (m *memory) Swap(ctx context.Context, changes []kv.Change) ([]bool, error) {
	if err := m.begin(ctx, "Swap"); err != nil {
		return nil, err
	}
	done := make([]bool, len(changes))
	for i, c := range changes {
		value, ok := m.get(c.Key)
		if done[i] = ok == (c.Old != nil) && value == string(c.Old); done[i] {
			m.values[c.Key] = string(c.New)
		}
	}
	return done, nil
}

func (m *memory) Live(ctx context.Context, keys map[string]time.Duration) error {
	if err := m.begin(ctx, "Live"); err != nil {
		return err
	}
	for key, ttl := range keys {
		m.values[key], m.ends[key] = "1", time.Now().Add(ttl)
	}
	return nil
}

func (m *memory) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	if err := m.begin(ctx, "Keys"); err != nil {
		return nil, err
	}
	for key := range m.values {
		if _, ok := m.get(key); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

const ttl = time.Second

func open(t *testing.T) (*memory, *kv.Store) {
	t.Helper()
	m := &memory{values: map[string]string{}, ends: map[string]time.Time{}}
	s, err := kv.New(m, "p/")
	require.NoError(t, err)
	return m, s
}

func take(t *testing.T, s *kv.Store, name string) lease.Held {
	t.Helper()
	won, err := s.Acquire(t.Context(), lease.Claim{Name: name, Holder: "a#1", TTL: ttl})
	require.NoError(t, err)
	require.True(t, won)
	return lease.Held{Name: name, Term: 1}
}

func record(t *testing.T, s *kv.Store, name string) lease.Record {
	t.Helper()
	found, err := s.Read(t.Context(), []string{name})
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// The fencing token outlives the lease and every sign of life.
func TestARecordNeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := open(t)
		take(t, s, "g")
		assert.Equal(t, ttl, record(t, s, "g").Left)
		<-time.After(1000 * time.Hour)
		r := record(t, s, "g")
		assert.EqualValues(t, 1, r.Term)
		assert.Zero(t, r.Left)
		assert.Len(t, m.ends, 1, "one sign of life")
		names, err := s.Names(t.Context())
		assert.NoError(t, err)
		assert.Equal(t, []string{"g"}, names)
	})
}

// A claimant that has found no sign of life loses to a renewal that comes before its swap.
func TestARenewalComesBeforeTheClaimsSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := open(t)
		held := take(t, s, "g")
		<-time.After(2 * ttl)
		m.before = func(method string) error {
			if method != "Swap" {
				return nil
			}
			m.before = nil
			kept, err := s.Renew(t.Context(), "a#1", []lease.Held{held})
			assert.Len(t, kept, 1)
			return err
		}
		won, err := s.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "b#1", TTL: ttl, Term: 1})
		assert.NoError(t, err)
		assert.False(t, won)
		r := record(t, s, "g")
		assert.Equal(t, "a#1", r.Holder)
		assert.EqualValues(t, 1, r.Renewals)
		assert.Equal(t, ttl, r.Left)
	})
}

// The sign of life is written before the record: if it cannot be written, the record stays as it
// was.
func TestASignOfLifeComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := open(t)
		held := take(t, s, "g")
		before := m.values["p/record/g"]
		broken := errors.New("broken")
		m.before = func(method string) error {
			if method == "Live" {
				return broken
			}
			return nil
		}
		_, err := s.Renew(t.Context(), "a#1", []lease.Held{held})
		assert.ErrorIs(t, err, broken)
		_, err = s.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "a#1", TTL: ttl, Term: 1})
		assert.ErrorIs(t, err, broken)
		assert.Equal(t, before, m.values["p/record/g"])
	})
}

// Any number of leases is renewed by three calls.
func TestRenewalsShareCalls(t *testing.T) {
	m, s := open(t)
	var held []lease.Held
	for i := range 1000 {
		held = append(held, take(t, s, fmt.Sprint(i)))
	}
	m.calls = nil
	kept, err := s.Renew(t.Context(), "a#1", held)
	assert.NoError(t, err)
	assert.Len(t, kept, len(held))
	assert.Equal(t, []string{"Get", "Live", "Swap"}, m.calls)
}

// A step begins anew when the record has changed meanwhile, but not for ever.
func TestARecordThatChangesAllTheTimeIsAnError(t *testing.T) {
	m, s := open(t)
	others := 0
	m.before = func(method string) error {
		if method == "Swap" {
			others++
			m.values["p/record/g"] = fmt.Sprintf(`{"term":%d}`, others)
		}
		return nil
	}
	assert.ErrorContains(t, s.Force(t.Context(), "g", ""), "other clients kept changing the record")
	assert.Greater(t, others, 10)
}

func TestAMalformedRecordIsNamed(t *testing.T) {
	m, s := open(t)
	m.values["p/record/g"] = "no record"
	_, err := s.Read(t.Context(), []string{"g"})
	assert.ErrorContains(t, err, `"p/record/g"`)
	_, err = kv.New(nil, "")
	assert.ErrorContains(t, err, "KV is nil")
}

// If any call of a step fails, here because the step's context has ended, the step returns its error, makes no other
// call, and has won and kept nothing.
func TestAFailureOfAnyCallIsTheErrorOfTheStep(t *testing.T) {
	for name, c := range map[string]struct {
		calls int
		step  func(ctx context.Context, s *kv.Store, held lease.Held) error
	}{
		"read": {2, func(ctx context.Context, s *kv.Store, _ lease.Held) error {
			found, err := s.Read(ctx, []string{"g"})
			assert.Empty(t, found)
			return err
		}},
		"acquire": {4, func(ctx context.Context, s *kv.Store, _ lease.Held) error {
			won, err := s.Acquire(ctx, lease.Claim{Name: "g", Holder: "a#1", TTL: ttl, Term: 1})
			assert.False(t, won)
			return err
		}},
		"renew": {3, func(ctx context.Context, s *kv.Store, held lease.Held) error {
			kept, err := s.Renew(ctx, "a#1", []lease.Held{held})
			assert.Empty(t, kept)
			return err
		}},
		"release": {2, func(ctx context.Context, s *kv.Store, held lease.Held) error { return s.Release(ctx, "a#1", held) }},
		"force":   {2, func(ctx context.Context, s *kv.Store, _ lease.Held) error { return s.Force(ctx, "g", "b") }},
		"names": {1, func(ctx context.Context, s *kv.Store, _ lease.Held) error {
			_, err := s.Names(ctx)
			return err
		}},
	} {
		for answered := range c.calls {
			m, s := open(t)
			held := take(t, s, "g")
			ctx, end := context.WithCancel(t.Context())
			calls := 0
			m.before = func(string) error {
				if calls++; calls > answered {
					end()
				}
				return nil
			}
			require.ErrorIs(t, c.step(ctx, s, held), context.Canceled, "%s: call %d", name, answered)
			assert.Equal(t, answered+1, calls, "%s goes on", name)
			end()
		}
	}
}

// Only those renewals are repeated whose records have changed meanwhile.
func TestOnlyWhatOthersHaveChangedIsRenewedAgain(t *testing.T) {
	m, s := open(t)
	held := []lease.Held{take(t, s, "a"), take(t, s, "b"), {Name: "never there", Term: 1}}
	m.before = func(method string) error {
		if method == "Swap" {
			m.before = nil
			kept, err := s.Renew(t.Context(), "a#1", held[1:2])
			assert.Equal(t, []string{"b"}, kept)
			return err
		}
		return nil
	}
	kept, err := s.Renew(t.Context(), "a#1", held)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, kept)
	assert.EqualValues(t, 1, record(t, s, "a").Renewals)
	assert.EqualValues(t, 2, record(t, s, "b").Renewals)
	assert.Equal(t, ttl, record(t, s, "a").TTL)
}

// Claims and renewals give up at last.
func TestClaimsAndRenewalsOfARecordThatChangesAllTheTimeFail(t *testing.T) {
	m, s := open(t)
	held := take(t, s, "g")
	renewals := 0
	m.before = func(method string) error {
		if method == "Swap" {
			renewals++
			m.values["p/record/g"] = fmt.Sprintf(`{"term":1,"holder":"a#1","ttl_us":1,"until_us":1,"renewals":%d}`, renewals)
		}
		return nil
	}
	_, err := s.Renew(t.Context(), "a#1", []lease.Held{held})
	require.ErrorContains(t, err, "other clients kept changing the record")
	assert.Equal(t, 100, renewals)
	won, err := s.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "a#1", TTL: ttl, Term: 1})
	require.ErrorContains(t, err, "other clients kept changing the record")
	assert.False(t, won)
	assert.Equal(t, 200, renewals)
}

// Methods make no call for an empty list, but an ended context is an error. They change nothing for leases that are not
// held.
func TestNoCallIsMadeForNoLeases(t *testing.T) {
	m, s := open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	found, err := s.Read(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, found)
	_, err = s.Read(ended, nil)
	require.ErrorIs(t, err, context.Canceled)
	kept, err := s.Renew(t.Context(), "a#1", nil)
	require.NoError(t, err)
	assert.Empty(t, kept)
	assert.Empty(t, m.calls)
	require.NoError(t, s.Release(t.Context(), "a#1", lease.Held{Name: "never there", Term: 1}))
	assert.Equal(t, []string{"Get"}, m.calls)
	kept, err = s.Renew(t.Context(), "a#1", []lease.Held{{Name: "never there", Term: 1}})
	require.NoError(t, err)
	assert.Empty(t, kept)
	assert.Equal(t, []string{"Get", "Get"}, m.calls)
	assert.Empty(t, m.values)
}

// The sign of life of a released lease is not read, although it may still exist.
func TestAReleasedLeaseHasNoTimeLeft(t *testing.T) {
	m, s := open(t)
	require.NoError(t, s.Release(t.Context(), "a#1", take(t, s, "g")))
	m.calls = nil
	r := record(t, s, "g")
	assert.True(t, r.Released)
	assert.Zero(t, r.Left)
	assert.Equal(t, []string{"Get"}, m.calls)
}

// A candidate that renews a lease that it has lost does not prolong the sign of life of the new holder.
func TestARenewalKeepsNoOtherHolderAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(t)
		take(t, s, "lost")
		won, err := s.Acquire(t.Context(), lease.Claim{Name: "held", Holder: "b#1", TTL: ttl})
		require.NoError(t, err)
		require.True(t, won)
		<-time.After(ttl / 2)
		kept, err := s.Renew(t.Context(), "b#1", []lease.Held{{Name: "lost", Term: 1}, {Name: "held", Term: 1}})
		require.NoError(t, err)
		assert.Equal(t, []string{"held"}, kept)
		assert.Equal(t, ttl/2, record(t, s, "lost").Left)
		assert.Equal(t, ttl, record(t, s, "held").Left)
	})
}

// Candidates of several versions share the records, so their form must not change.
func TestTheFormOfARecordStaysAsItIs(t *testing.T) {
	m, s := open(t)
	held := take(t, s, "g")
	assert.JSONEq(t, `{"term":1,"holder":"a#1","heir":"","renewals":0,"ttl_us":1000000,"until_us":1,"life":"p/life/1/1/g/a#1"}`, m.values["p/record/g"])
	require.NoError(t, s.Force(t.Context(), "g", "b"))
	require.NoError(t, s.Release(t.Context(), "a#1", held))
	assert.JSONEq(t, `{"term":2,"holder":"","heir":"b","renewals":0,"ttl_us":1000000,"until_us":0,"life":"p/life/1/1/g/a#1"}`, m.values["p/record/g"])
}

// A claim needs the sign of life of the last holder only if there was one, and the claim asks the database whether it is
// alive.
func TestOnlyAClaimThatUsesTheClockReadsASignOfLife(t *testing.T) {
	m, s := open(t)
	take(t, s, "g")
	assert.Equal(t, []string{"Get", "Live", "Swap"}, m.calls)
	m.calls = nil
	won, err := s.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "b#1", TTL: ttl, Term: 1, Watched: true})
	require.NoError(t, err)
	assert.True(t, won)
	assert.Equal(t, []string{"Get", "Live", "Swap"}, m.calls)
	m.calls = nil
	won, err = s.Acquire(t.Context(), lease.Claim{Name: "g", Holder: "c#1", TTL: ttl, Term: 2})
	require.NoError(t, err)
	assert.False(t, won)
	assert.Equal(t, []string{"Get", "Get"}, m.calls)
}
