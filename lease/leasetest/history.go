// A history of concurrent calls about one lease, and a check whether it is linearizable.

package leasetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// question is a call, answer its result.
type question struct {
	op     string
	called time.Duration // the time of the call
	holder string
	heir   string
	claim  lease.Claim
	term   memberstate.Term
}

type answer struct {
	unknown bool // there was an error: the call may take effect at any time, or never
	ok      bool
	record  lease.Record
	by      time.Duration // the time of the answer
}

// row is a lease in the model. Its clock is the callers'. By that clock only the least duration
// of a lease is certain; after that the store decides whether the lease has expired.
type row struct {
	term     memberstate.Term
	holder   string
	heir     string
	renewals uint64
	released bool
	ttl      time.Duration
	runs     time.Duration // it does not expire before this time
}

// lasting returns the row with a lease that lasts a TTL from a moment at or after from.
func (r row) lasting(from time.Duration) row {
	r.runs = from + r.ttl - grain
	return r
}

// step returns the row after a question, for every possible answer.
func (r row) step(q question, by time.Duration) map[bool]row {
	next := r
	switch q.op {
	case "acquire":
		c := q.claim
		next = row{term: r.term + 1, holder: c.Holder, ttl: c.TTL}.lasting(q.called)
		free := r.released || r.holder == c.Holder || c.Watched && r.renewals == c.Renewals
		switch {
		case r.term != c.Term, !free && (c.Watched || by < r.runs):
			return map[bool]row{false: r}
		case free:
			return map[bool]row{true: next}
		}
		return map[bool]row{true: next, false: r} // by the database's clock
	case "renew":
		if r.holder != q.holder || r.term != q.term {
			return map[bool]row{false: r}
		}
		next = next.lasting(q.called)
		next.renewals++
	case "release":
		if r.holder == q.holder && r.term == q.term || r.holder == "" && r.term == q.term+1 {
			next.holder, next.released = "", true
		}
	case "force":
		next.term, next.holder, next.heir, next.renewals = r.term+1, "", q.heir, 0
	}
	return map[bool]row{true: next}
}

// model is one lease, without a record at first.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{row{released: true}} },
	Step: func(state, input, output any) []any {
		r, q, a := state.(row), input.(question), output.(answer)
		if q.op == "read" {
			seen := row{a.record.Term, a.record.Holder, a.record.Heir, a.record.Renewals, a.record.Released, a.record.TTL, r.runs}
			if !a.unknown && seen != r {
				return nil
			}
			return []any{r}
		}
		next := r.step(q, a.by)
		if !a.unknown {
			if after, possible := next[a.ok]; possible {
				return []any{after}
			}
			return nil
		}
		all := []any{r}
		for _, after := range next {
			if after != r {
				all = append(all, after)
			}
		}
		return all
	},
	Equal:         func(a, b any) bool { return a == b },
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// caller makes calls to a store and records the answers.
type caller struct {
	id      int
	store   lease.Store
	name    string
	dice    *rand.Rand
	begin   time.Time
	last    lease.Record
	history []porcupine.Operation
}

// never is the time of an answer that did not come.
const never = time.Duration(1) << 62

// ask makes one call; one in ten is given up early.
func (c *caller) ask(ctx context.Context) {
	q := c.next()
	patient := c.dice.IntN(10) > 0
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	if !patient {
		timer := time.AfterFunc(time.Duration(c.dice.IntN(2000))*time.Microsecond, cancel)
		defer timer.Stop()
	}
	q.called = time.Since(c.begin)
	a, err := c.answer(asking, q)
	a.by = time.Since(c.begin)
	if err != nil {
		a = answer{unknown: true, by: never}
	}
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: q, Call: int64(q.called), Output: a, Return: int64(a.by)})
}

// ttls are for leases that expire at once, and for leases that last for a while.
var ttls = []time.Duration{2 * time.Millisecond, 2*time.Millisecond + 10*grain}

// next draws a question. It claims and renews the last record that was read.
func (c *caller) next() question {
	q := question{op: "read", holder: fmt.Sprintf("h#%d", c.id), term: c.last.Term}
	switch c.dice.IntN(12) {
	case 0, 1, 2, 3:
		q.op = "acquire"
		q.claim = lease.Claim{
			Name: c.name, Holder: q.holder, TTL: ttls[c.dice.IntN(len(ttls))], Term: c.last.Term, Renewals: c.last.Renewals, Watched: c.dice.IntN(2) == 0,
		}
	case 4, 5:
		q.op = "renew"
	case 6, 7:
		q.op = "release"
	case 8:
		q.op, q.heir = "force", "heir"
	}
	return q
}

func (c *caller) answer(ctx context.Context, q question) (a answer, err error) {
	switch q.op {
	case "read":
		var found []lease.Record
		found, err = c.store.Read(ctx, []string{c.name})
		a.record = lease.Record{Released: true}
		if len(found) > 0 {
			a.record = found[0]
		}
		if err == nil {
			c.last = a.record
		}
	case "acquire":
		if a.ok, err = c.store.Acquire(ctx, q.claim); a.ok && err == nil {
			c.last = lease.Record{Term: q.claim.Term + 1}
		}
	case "renew":
		var kept []string
		kept, err = c.store.Renew(ctx, q.holder, []lease.Held{{Name: c.name, Term: q.term}})
		a.ok = len(kept) > 0
	case "release":
		a.ok, err = true, c.store.Release(ctx, q.holder, lease.Held{Name: c.name, Term: q.term})
	case "force":
		a.ok, err = true, c.store.Force(ctx, c.name, q.heir)
	}
	return a, err
}

// record runs some callers, and returns their history.
func record(ctx context.Context, store lease.Store, name string, seed uint64) []porcupine.Operation {
	const callers, questions = 5, 40
	var all [callers]*caller
	var asking sync.WaitGroup
	begin := time.Now()
	for i := range all {
		c := &caller{id: i, store: store, name: name, dice: rand.New(rand.NewPCG(seed, uint64(i))), begin: begin}
		all[i] = c
		asking.Go(func() {
			for range questions {
				c.ask(ctx)
			}
		})
	}
	asking.Wait()
	var history []porcupine.Operation
	for _, c := range all {
		history = append(history, c.history...)
	}
	return history
}

func (s *stand) linearizable() {
	for i := range 5 {
		seed := rand.Uint64()
		history := record(s.ctx, s.Store, fmt.Sprintf("%s %d", s.name, i), seed)
		verdict := porcupine.CheckOperationsTimeout(model, history, patience/2)
		assert.Equal(s.t, porcupine.Ok, verdict, "seed %d", seed)
		if s.t.Failed() {
			return
		}
	}
}
