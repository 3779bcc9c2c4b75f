// Statements that arrive more than a TTL late, and a database that does not answer.

package leasetest

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
)

// Far is a store whose connection to its database can be held up: messages sent after Hold
// arrive after Resume, if at all. Hold and Resume may be called repeatedly.
type Far struct {
	Store        lease.Store
	Hold, Resume func()
}

func (s *stand) far() Far {
	s.t.Helper()
	if s.Far == nil {
		s.t.Skip("Subject.Far is nil: the connection to the database cannot be held up")
	}
	f := s.Far()
	_, err := f.Store.Read(s.ctx, []string{s.name}) // so that it is connected
	require.NoError(s.t, err)
	s.t.Cleanup(f.Resume)
	return f
}

// silence checks that a method ends with its context, although the database does not answer.
func (s *stand) silence() {
	const soon = 8 * short // less than the time-outs of drivers
	held := s.take("a#1", long)
	far := s.far()
	far.Hold()
	ctx, cancel := context.WithTimeout(s.ctx, short)
	defer cancel()
	type end struct {
		of  string
		err error
	}
	calls := map[string]func() error{
		"Read":    func() error { _, err := far.Store.Read(ctx, []string{s.name}); return err },
		"Acquire": func() error { _, err := far.Store.Acquire(ctx, s.claim("a#1", 1, long)); return err },
		"Renew":   func() error { _, err := far.Store.Renew(ctx, "a#1", []lease.Held{held}); return err },
		"Release": func() error { return far.Store.Release(ctx, "a#1", held) },
		"Force":   func() error { return far.Store.Force(ctx, s.name, "b") },
	}
	ended := make(chan end, len(calls))
	for of, call := range calls {
		go func() { ended <- end{of, call()} }()
	}
	late := time.After(soon)
	for range len(calls) {
		select {
		case e := <-ended:
			assert.Error(s.t, e.err, e.of)
			delete(calls, e.of)
		case <-late:
			for of := range calls {
				assert.Fail(s.t, of+" goes on when its context has ended")
			}
			return
		}
	}
}

// lateByATTL delays a holder's statements until another candidate has the lease.
func (s *stand) lateByATTL() {
	held := s.take("a#1", short)
	far := s.far()
	far.Hold()
	var sent sync.WaitGroup
	for range 2 { // each is also sent twice
		sent.Go(func() {
			kept, err := far.Store.Renew(s.ctx, "a#1", []lease.Held{held})
			assert.True(s.t, err != nil || len(kept) == 0, "a lost lease was renewed")
		})
		sent.Go(func() {
			won, err := far.Store.Acquire(s.ctx, s.claim("a#1", 1, long))
			assert.True(s.t, err != nil || !won, "a claim in an old term won")
		})
		sent.Go(func() { _ = far.Store.Release(s.ctx, "a#1", held) })
	}
	s.runOut()
	require.True(s.t, s.acquire(s.claim("b#1", 1, long)))
	before := s.record()
	far.Resume()
	sent.Wait()
	assert.Equal(s.t, state(before), state(s.record()))
}
