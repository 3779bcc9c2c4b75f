// Tests of names, of time, and of many claims at once.

package leasetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
)

// similar returns texts that a database may confuse with each other, or with a part of its
// language.
func similar(most int) []string {
	all := []string{
		"name", "Name", "NAME", "näme", "na\u0308me", "name ", " name", "name\t", "name\n", "ｎame", "naṁe", "ß", "ss", "SS", "ı", "i", "I", "İ",
		"key", "`key`", "'", "''", "\"", "\\", "\\'", "%", "_", "?", "$1", ":a", "{}", "[", "null", "true", "1", "1.0", "01", "0x31", "\U0001F451", "\U0001F451\U0001F451",
		"\x01", "\u200b", "a,b", "a\",\"b",
	}
	full := strings.Repeat("x", most-1)
	return append(all, full, full+"a", full+"b", strings.Repeat("é", most/2))
}

func (s *stand) names() {
	prefix := s.name[5:15] // short, and unique to this test
	names := similar(lease.MaxName - len(prefix))
	for i, name := range names {
		names[i] = prefix + name
	}
	for i, name := range names {
		require.True(s.t, s.acquire(lease.Claim{Name: name, Holder: fmt.Sprintf("h#%d", i), TTL: long}), "%q is taken for another", name)
	}
	found, err := s.Store.Read(s.ctx, names)
	require.NoError(s.t, err)
	assert.Len(s.t, found, len(names))
	for i, name := range names {
		r, known := s.read(name)
		assert.True(s.t, known, "%q", name)
		assert.Equal(s.t, fmt.Sprintf("h#%d", i), r.Holder)
		assert.Equal(s.t, []string{name}, s.renew(r.Holder, lease.Held{Name: name, Term: 1}))
	}
}

func (s *stand) listing() {
	lister, ok := s.Store.(lease.Lister)
	if !ok {
		s.t.Skip("the store is not a lease.Lister")
	}
	names := similar(lease.MaxName - len(s.name))
	for i, name := range names {
		names[i] = s.name + name
		require.True(s.t, s.acquire(lease.Claim{Name: names[i], Holder: "a#1", TTL: long}))
	}
	all, err := lister.Names(s.ctx)
	require.NoError(s.t, err)
	var ours []string
	for _, name := range all {
		if strings.HasPrefix(name, s.name) {
			ours = append(ours, name)
		}
	}
	assert.ElementsMatch(s.t, names, ours)
}

func (s *stand) holders() {
	holders := similar(lease.MaxName)
	for _, holder := range holders {
		held := s.take(holder, long)
		require.Equal(s.t, holder, s.record().Holder)
		for _, other := range holders {
			if other != holder {
				require.Empty(s.t, s.renew(other, held), "%q renews for %q", other, holder)
				require.False(s.t, s.acquire(s.claim(other, held.Term, long)), "%q claims from %q", other, holder)
			}
		}
		require.Len(s.t, s.renew(holder, held), 1)
	}
	for _, heir := range similar(lease.MaxSelf) {
		s.force(heir)
		require.Equal(s.t, heir, s.record().Heir)
	}
}

// fineTime finds stores that round times to seconds.
func (s *stand) fineTime() {
	s.needsFineTime()
	ttl := 1500*time.Millisecond + 1*time.Millisecond
	begin := time.Now()
	s.take("a#1", ttl)
	seen := map[time.Duration]bool{}
	for left := ttl; left > ttl-short; pause() {
		r := s.record()
		assert.Equal(s.t, ttl, r.TTL)
		assert.LessOrEqual(s.t, r.Left, ttl)
		assert.LessOrEqual(s.t, ttl-r.Left, time.Since(begin)+time.Millisecond)
		left = r.Left
		seen[left] = true
	}
	assert.Greater(s.t, len(seen), 3, "the time left must fall steadily, not in jumps")
}

func (s *stand) endedContext() {
	held := s.take("a#1", long)
	before := s.record()
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.Store.Read(ended, []string{s.name})
	assert.Error(s.t, err)
	won, err := s.Store.Acquire(ended, s.claim("a#1", 1, long))
	assert.Error(s.t, err)
	assert.False(s.t, won)
	_, err = s.Store.Renew(ended, "a#1", []lease.Held{held})
	assert.Error(s.t, err)
	assert.Error(s.t, s.Store.Release(ended, "a#1", held))
	assert.Error(s.t, s.Store.Force(ended, s.name, "b"))
	if lister, ok := s.Store.(lease.Lister); ok {
		_, err = lister.Names(ended)
		assert.Error(s.t, err)
	}
	assert.Equal(s.t, state(before), state(s.record()))
}

// manyClaims compete for a lease, which has no record at first.
func (s *stand) manyClaims() {
	for term := range 20 {
		r, _ := s.read(s.name)
		var claims sync.WaitGroup
		var won atomic.Int32
		for i := range 16 {
			claims.Go(func() {
				c := s.claim(fmt.Sprintf("%d#%d", i, term), r.Term, long)
				c.Watched = true
				got, err := s.Store.Acquire(s.ctx, c)
				assert.NoError(s.t, err)
				if got {
					won.Add(1)
				}
			})
		}
		claims.Wait()
		require.EqualValues(s.t, 1, won.Load())
		require.Equal(s.t, r.Term+1, s.record().Term)
	}
}
