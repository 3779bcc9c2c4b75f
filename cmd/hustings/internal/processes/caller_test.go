//go:build linux

// Callers are clients under load: they find the leader as programs do that use operator/route, and ask it again and again. What
// they were answered is compared with what the nodes have said of their leases.

package processes_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator/route"
)

// callerCount is how many ask at the same time, and searchWithin is how long none of them may be without a leader, however busy the
// machine is.
const callerCount = 4

var searchWithin = 50 * elector.DefaultTiming().Detection()

// asked is a request that has been answered, or that was given up.
type asked struct {
	node           string
	sent, answered int64
	accepted       bool
	term           memberstate.Term // that the node has accepted it in
	says           string
}

// callers ask the leader of a cluster until the context ends.
type callers struct {
	c      *cluster
	router *route.Router
	http   http.Client

	mu  sync.Mutex
	all []asked
}

// call starts callers. They stop, and what they have seen is checked, when the function is called that it returns.
func (c *cluster) call() (l *callers, stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	files, addresses := certs.Files(c.dir, "alice"), make([]string, 0, len(c.ids))
	for _, id := range c.ids {
		addresses = append(addresses, c.listen[id])
	}
	router, err := route.New(ctx, route.Config{Addresses: addresses, TLS: &files, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(c.t, err)
	l = &callers{c: c, router: router}
	var asking sync.WaitGroup
	for range callerCount {
		asking.Go(func() { l.ask(ctx) })
	}
	return l, func() {
		cancel()
		asking.Wait()
		router.Close()
		l.http.CloseIdleConnections()
	}
}

// ask asks until the context ends. It gives the search for a leader up if that takes far too long.
func (l *callers) ask(ctx context.Context) {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for ctx.Err() == nil {
		search, found := context.WithTimeout(ctx, searchWithin)
		for !l.askOnce(search) && search.Err() == nil {
			<-again.C
		}
		overdue := search.Err() != nil && ctx.Err() == nil
		found()
		if !assert.False(l.c.t, overdue, "no leader has accepted a request for %v", searchWithin) {
			return
		}
		<-again.C
	}
}

// askOnce asks whoever leads as far as the router knows.
func (l *callers) askOnce(ctx context.Context) (accepted bool) {
	leader, err := l.router.Await(ctx, "demo")
	if err != nil {
		return false
	}
	a := asked{node: leader.ID, sent: now()}
	a.says, a.accepted = l.get(ctx, leader.ID)
	a.answered = now()
	if ctx.Err() != nil {
		return false // the test ends, or the search has
	}
	if a.accepted {
		_, err := fmt.Sscanf(a.says, "group=demo term=%d", &a.term)
		assert.NoError(l.c.t, err, a.says)
	} else {
		l.router.Refused("demo", leader.Term)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, a)
	return a.accepted
}

// get asks a node, which accepts while it leads with a lease.
func (l *callers) get(ctx context.Context, id string) (says string, accepted bool) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.c.pages[id]+"/leader", http.NoBody)
	if err != nil {
		return err.Error(), false
	}
	answer, err := l.http.Do(q)
	if err != nil {
		return err.Error(), false
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // what was read counts
	return string(text), err == nil && answer.StatusCode == http.StatusOK
}

// served waits until a request has been accepted in a term.
func (l *callers) served(term memberstate.Term) {
	l.c.t.Helper()
	require.Eventually(l.c.t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		n := len(l.all)
		return slices.ContainsFunc(l.all[max(0, n-2*callerCount):], func(a asked) bool { return a.accepted && a.term >= term })
	}, patience, time.Millisecond, "nobody is served in term %d", term)
}

// lost are the requests that were accepted by a leader whose successor had accepted one before: what the former accepts then is
// lost.
func lost(all []asked) (lost []asked) {
	type moment struct {
		at   int64
		sent bool
		asked
	}
	var moments []moment
	for _, a := range all {
		if a.accepted {
			moments = append(moments, moment{a.sent, true, a}, moment{a.answered, false, a})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	var newest memberstate.Term
	for _, m := range moments {
		if !m.sent {
			newest = max(newest, m.term)
		} else if m.term < newest {
			lost = append(lost, m.asked)
		}
	}
	return lost
}

func TestARequestIsLostThatAnOldLeaderAccepts(t *testing.T) {
	t.Parallel()
	first, next := asked{node: "n1", sent: 10, answered: 20, accepted: true, term: 2}, asked{node: "n0", sent: 19, answered: 30, accepted: true, term: 1}
	assert.Empty(t, lost([]asked{next, first}), "they may have been accepted in the order of the terms")
	next.sent = 21
	assert.Equal(t, []asked{next}, lost([]asked{next, first}))
	next.accepted = false
	assert.Empty(t, lost([]asked{next, first}))
}

// assertAccepted checks that a leader with a lease has accepted all that it was asked, until it was told to stop. It returns
// how many requests were accepted, and how many were not.
func (l *callers) assertAccepted(t *testing.T, told map[string]int64) (accepted, refused int) {
	t.Helper()
	leases := l.c.leases(told)
	for _, a := range l.all {
		if a.accepted {
			accepted++
			continue
		}
		refused++
		for _, held := range leases {
			if held.Node == a.node && held.AtNanos <= a.sent && a.answered <= held.UntilNanos {
				assert.Fail(t, "refused for no reason", "by %s, which has a lease in term %d: %s", a.node, held.Term, a.says)
			}
		}
	}
	return accepted, refused
}

// leases are those of all nodes, until they were given up or the process was told to stop.
func (c *cluster) leases(told map[string]int64) (leases []node.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ends := maps.Clone(told) // by process
	for _, e := range c.events {
		if e.Event == "handover" || e.Event == "unlead" {
			ends[e.Process] = min(e.AtNanos, cmp.Or(ends[e.Process], e.AtNanos))
		}
	}
	for _, e := range c.events {
		if e.Event == "lease" {
			e.UntilNanos = min(e.UntilNanos, cmp.Or(ends[e.Process], e.UntilNanos))
			leases = append(leases, e)
		}
	}
	return leases
}
