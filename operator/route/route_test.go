// Routers of nodes that say what a test has them say, in virtual time.

package route

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is what a node says: some rows, or that the connection is lost.
type said struct {
	rows operator.Rows
	err  error
}

// routed is a Router and the nodes that it reads.
type routed struct {
	*Router
	t     *testing.T
	nodes []chan said
	opens []time.Duration // when the first node was connected, or tried, since the start
	reads atomic.Int32    // how many tables are being read
	log   bytes.Buffer
}

// withRouter plays a test with a Router of this many nodes.
func withRouter(t *testing.T, nodes int, play func(r *routed)) {
	t.Helper()
	withRouterOf(t, nodes, Config{}, play)
}

// withRouterOf does so with a Router that is configured like this.
func withRouterOf(t *testing.T, nodes int, config Config, play func(r *routed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &routed{t: t}
		config.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
		for i := range nodes {
			r.nodes = append(r.nodes, make(chan said))
			config.Addresses = append(config.Addresses, string(rune('a'+i)))
		}
		begun := time.Now()
		r.Router = start(t.Context(), config, func(ctx context.Context, address string, _ *Config) iter.Seq2[operator.Rows, error] {
			if address == "a" {
				r.opens = append(r.opens, time.Since(begun))
			}
			return r.read(ctx, int(address[0]-'a'))
		})
		play(r)
		r.Close()
		assert.Zero(t, r.reads.Load(), "nothing goes on")
		assert.Empty(t, r.waiters)
	})
}

// read is a node's table: what the test says of it.
func (r *routed) read(ctx context.Context, node int) iter.Seq2[operator.Rows, error] {
	return func(yield func(operator.Rows, error) bool) {
		r.reads.Add(1)
		defer r.reads.Add(-1)
		for {
			select {
			case s := <-r.nodes[node]:
				if !yield(s.rows, s.err) || s.err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// says has a node send rows. Its table is complete with them.
func (r *routed) says(node int, rows ...operator.Row) {
	r.nodes[node] <- said{rows: operator.Rows{Rows: rows, Current: true}}
	synctest.Wait()
}

// begins has a node send the first rows of its table, after which others come.
func (r *routed) begins(node int, rows ...operator.Row) {
	r.nodes[node] <- said{rows: operator.Rows{Rows: rows}}
	synctest.Wait()
}

// loses has the connection to a node break. The Router has connected anew when it returns.
func (r *routed) loses(node int) {
	r.nodes[node] <- said{err: errors.New("it broke")}
	<-time.After(shortestWait)
	synctest.Wait()
}

// row is a row of group g.
func row(term memberstate.Term, leader string) operator.Row {
	r := operator.Row{Group: "g", Term: term, Leader: leader}
	if leader != "" {
		r.Address = "at " + leader
	}
	return r
}

// leads is the answer that this leader leads.
func leads(term memberstate.Term, leader string) Leader {
	return Leader{ID: leader, Address: "at " + leader, Term: term}
}

func (r *routed) assertLeads(term memberstate.Term, leader string, why ...any) {
	r.t.Helper()
	found, ok := r.Leader("g")
	assert.True(r.t, ok, why...)
	assert.Equal(r.t, leads(term, leader), found, why...)
}

func (r *routed) assertNone(why ...any) {
	r.t.Helper()
	found, ok := r.Leader("g")
	assert.False(r.t, ok, why...)
	assert.Zero(r.t, found, why...)
}

func TestTheLeaderIsThatOfTheNewestTerm(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		t := r.t
		r.assertNone("nothing is known yet")
		r.says(0, row(1, "n0"))
		r.assertLeads(1, "n0")
		r.says(0, row(3, "n2"))
		r.assertLeads(3, "n2")
		_, ok := r.Leader("other")
		assert.False(t, ok)
	})
}

// Rows of several nodes come in any order. Whichever order it is, the newest one counts.
func TestRowsThatComeLateChangeNothing(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}} {
		withRouter(t, 4, func(r *routed) {
			rows := []operator.Row{row(5, "n0"), row(6, ""), row(6, "n1"), row(4, "n2")}
			for _, i := range order {
				r.says(i, rows[i])
			}
			r.assertLeads(6, "n1", order)
		})
	}
}

// In the same term one node knows the leader and the other does not, or has lost it.
func TestALeaderIsNotErasedByANodeThatKnowsNone(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.says(0, row(5, ""))
		r.assertNone()
		r.says(1, row(5, "n1"))
		r.assertLeads(5, "n1")
		r.says(0, row(5, ""))
		r.says(0, row(4, ""))
		r.assertLeads(5, "n1")
	})
}

func TestAnAddressIsTakenFromANodeThatKnowsIt(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		t := r.t
		r.says(0, operator.Row{Group: "g", Term: 5, Leader: "n1"})
		found, ok := r.Leader("g")
		assert.True(t, ok)
		assert.Equal(t, Leader{ID: "n1", Term: 5}, found)
		r.says(1, row(4, "n2"))
		found, _ = r.Leader("g")
		assert.Equal(t, Leader{ID: "n1", Term: 5}, found, "the address of another leader is not this one's")
		r.Refused("g", 5)
		r.says(1, row(5, "n1"))
		r.assertNone("it has refused, wherever it is")
		<-time.After(usualDoubt)
		r.assertLeads(5, "n1")
		r.says(0, operator.Row{Group: "g", Term: 5, Leader: "n1"})
		r.assertLeads(5, "n1")
		r.says(0, operator.Row{Group: "g", Term: 6, Leader: "n2"})
		found, _ = r.Leader("g")
		assert.Equal(t, Leader{ID: "n2", Term: 6}, found, "the next leader is elsewhere")
	})
}

// A node that is cut off begins term after term. The leader that the other one knows serves meanwhile, so it is named again.
func TestANewerTermWithoutALeaderOnlyCastsDoubtOnTheOlder(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.says(0, row(5, "n1"))
		r.says(1, row(6, ""))
		r.assertNone("it has probably lost its office")
		<-time.After(usualDoubt / 2)
		r.says(1, row(7, ""))
		r.assertNone()
		<-time.After(usualDoubt / 2)
		r.assertLeads(5, "n1", "nobody else has been elected")
		r.says(1, row(8, ""))
		r.assertLeads(5, "n1", "the doubt is the same")
		r.says(1, row(9, "n2"))
		r.says(1, row(10, ""))
		r.assertNone("this doubt is new")
		r.says(0, row(10, "n0"))
		r.assertLeads(10, "n0", "at once")
		r.says(1, row(12, ""))
		r.says(0, row(11, "n1"))
		r.assertNone("it is newer, and in doubt as well")
		<-time.After(usualDoubt)
		r.assertLeads(11, "n1")
	})
}

// A leader that has refused is not named until a newer one is known, or for a while.
func TestALeaderThatHasRefusedIsNotNamed(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.Refused("g", 0) // nothing is known
		r.says(0, row(5, "n1"))
		r.Refused("g", 4)
		r.Refused("g", 6)
		r.assertLeads(5, "n1", "another has refused")
		r.Refused("g", 5)
		r.assertNone()
		r.says(1, row(5, "n1"))
		r.assertNone("this is nothing new")
		r.says(1, row(6, "n2"))
		r.assertLeads(6, "n2")
		r.Refused("g", 6)
		<-time.After(usualDoubt - 1)
		r.assertNone()
		<-time.After(1)
		r.assertLeads(6, "n2", "it may serve by now")
		r.Refused("g", 6)
		r.assertNone("it has refused again")
	})
}

func TestALeaderIsDoubtedForAsLongAsIsConfigured(t *testing.T) {
	const doubt = 7 * usualDoubt
	withRouterOf(t, 1, Config{Doubt: doubt}, func(r *routed) {
		for _, cast := range []func(){func() { r.Refused("g", 5) }, func() { r.says(0, row(6, "")) }} {
			r.says(0, row(5, "n1"))
			cast()
			<-time.After(doubt - 1)
			r.assertNone()
			<-time.After(1)
			r.assertLeads(5, "n1")
		}
	})
}

// await calls Await in another goroutine.
func (r *routed) await(ctx context.Context) <-chan any {
	outcome := make(chan any, 1)
	go func() {
		found, err := r.Await(ctx, "g")
		if err != nil {
			outcome <- err
			return
		}
		outcome <- found
	}()
	synctest.Wait()
	return outcome
}

func TestALeaderIsAwaited(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		t := r.t
		one, other := r.await(t.Context()), r.await(t.Context())
		r.says(0, row(5, ""))
		assert.Empty(t, one)
		r.says(0, row(5, "n1"))
		assert.Equal(t, leads(5, "n1"), <-one)
		assert.Equal(t, leads(5, "n1"), <-other)
		assert.Equal(t, leads(5, "n1"), <-r.await(t.Context()), "it is known")

		r.Refused("g", 5)
		one = r.await(t.Context())
		assert.Empty(t, one)
		r.says(0, row(6, "n2"))
		assert.Equal(t, leads(6, "n2"), <-one)

		r.Refused("g", 6)
		asked := time.Now()
		assert.Equal(t, leads(6, "n2"), <-r.await(t.Context()), "in the end it is named again")
		assert.Equal(t, usualDoubt, time.Since(asked))
	})
}

// A leader that is known, that comes again in the same term, or that is in doubt, is none.
func TestANewerLeaderIsAwaited(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		t := r.t
		r.says(0, row(5, "n1"))
		newer := make(chan Leader, 1)
		go func() {
			found, err := r.AwaitNewer(t.Context(), "g", 5)
			assert.NoError(t, err)
			newer <- found
		}()
		synctest.Wait()
		r.Refused("g", 5)
		r.says(0, row(6, ""))
		<-time.After(2 * usualDoubt)
		assert.Empty(t, newer)
		r.says(0, row(6, "n2"))
		assert.Equal(t, leads(6, "n2"), <-newer)
		found, err := r.AwaitNewer(t.Context(), "g", 5)
		require.NoError(t, err, "it is known")
		assert.Equal(t, leads(6, "n2"), found)
		r.Refused("g", 6)
		asked := time.Now()
		found, err = r.AwaitNewer(t.Context(), "g", 5)
		require.NoError(t, err, "in the end it is named again")
		assert.Equal(t, leads(6, "n2"), found)
		assert.Equal(t, usualDoubt, time.Since(asked))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, term := range []memberstate.Term{6, 7} {
			_, err = r.AwaitNewer(ctx, "g", term)
			require.ErrorIs(t, err, context.Canceled, "that of term 6 is not newer than that of term %d", term)
		}
	})
}

// Await ends with its context, with the Router, and with the Router's context. Nothing is kept for those who have left.
func TestAwaitEnds(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		t := r.t
		ctx, cancel := context.WithCancelCause(t.Context())
		leaves, stays := r.await(ctx), r.await(t.Context())
		cancel(assert.AnError)
		err, _ := (<-leaves).(error)
		require.ErrorIs(t, err, assert.AnError)
		require.EqualError(t, err, `route: no leader of group "g" is known: `+assert.AnError.Error())
		assert.Len(t, r.waiters, 1)
		r.says(0, operator.Row{Group: "h", Term: 1, Leader: "n0"})
		_, err = r.Await(ctx, "h")
		require.NoError(t, err, "it is known, so nobody waits")
		r.Close()
		err, _ = (<-stays).(error)
		require.ErrorIs(t, err, ErrClosed)
		synctest.Wait()
		assert.Empty(t, r.waiters)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &routed{t: t, nodes: []chan said{make(chan said)}}
		r.Router = start(ctx, Config{Addresses: []string{"a"}}, func(ctx context.Context, _ string, _ *Config) iter.Seq2[operator.Rows, error] { return r.read(ctx, 0) })
		waits := r.await(t.Context())
		cancel()
		err, _ := (<-waits).(error)
		require.ErrorIs(t, err, ErrClosed)
		r.Close()
	})
}

// A node that is lost keeps its word, until it is back and says something else.
func TestWhatALostNodeHasSaidCounts(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		t := r.t
		r.says(0, row(5, "n1"), operator.Row{Group: "h", Term: 2, Leader: "n2"})
		r.loses(0)
		r.assertLeads(5, "n1")
		r.nodes[0] <- said{rows: operator.Rows{Rows: []operator.Row{row(6, "n2")}}}
		synctest.Wait()
		r.assertLeads(6, "n2", "though more rows are to come")
		_, ok := r.Leader("h")
		assert.True(t, ok, "it may be among them")
		r.says(0)
		_, ok = r.Leader("h")
		assert.False(t, ok, "it has ended meanwhile")
		r.assertLeads(6, "n2")
		r.says(0)
		r.assertLeads(6, "n2", "only the first rows are all that the node has")
	})
}

// A lost node is tried again, ever more rarely, and told of once. When its table is complete, that begins anew.
func TestALostNodeIsTriedAgain(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		t := r.t
		r.says(1, row(1, "n1"))
		for range 7 {
			r.nodes[0] <- said{err: errors.New("it broke")}
		}
		r.says(0, row(2, "n2"))
		want := []time.Duration{0}
		for _, wait := range []time.Duration{250, 500, 1000, 2000, 4000, 4000, 4000} {
			want = append(want, want[len(want)-1]+wait*time.Millisecond)
		}
		assert.Equal(t, want, r.opens)
		r.assertLeads(2, "n2")
		assert.Equal(t, 1, strings.Count(r.log.String(), "lost"))
		assert.Contains(t, r.log.String(), `level=WARN msg="the table of a node is lost; retrying" address=a error="it broke"`)
		assert.Equal(t, 1, strings.Count(r.log.String(), "complete"))
		assert.Contains(t, r.log.String(), `level=INFO msg="the table of a node is complete again" address=a`)
		r.says(0, row(3, "n2"))
		assert.Equal(t, 1, strings.Count(r.log.String(), "complete"))
		r.loses(0)
		assert.Equal(t, shortestWait, r.opens[8]-r.opens[7])
		assert.Equal(t, 2, strings.Count(r.log.String(), "lost"))
	})
}

// A node that has just been started again may not know the leader yet. The group has not ended, so what was known of it counts.
func TestAGroupThatGoesOnWhenItsNodeIsBackIsNotForgotten(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		r.says(0, row(5, "n1"))
		r.loses(0)
		r.says(0, row(5, ""))
		r.assertLeads(5, "n1")
		r.Refused("g", 5)
		r.loses(0)
		r.says(0, row(5, "n1"))
		r.assertNone("and so does the doubt")
	})
}

// Another node is connected anew while the rows of the first one come.
func TestTheRowsOfANodeAreItsOwn(t *testing.T) {
	withRouter(t, 2, func(r *routed) {
		r.nodes[1] <- said{rows: operator.Rows{Rows: []operator.Row{row(5, "n1")}}}
		r.loses(0)
		r.says(1)
		r.assertLeads(5, "n1")
	})
}

// However long the wait for the next try is.
func TestARouterIsClosedAtOnce(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		r.nodes[0] <- said{err: errors.New("it broke")}
		synctest.Wait()
		began := time.Now()
		r.Close()
		assert.Zero(r.t, time.Since(began))
	})
}

// A node whose table is no longer wanted is not lost.
func TestARouterThatIsClosedWarnsOfNothing(t *testing.T) {
	withRouter(t, 1, func(r *routed) {
		r.says(0, row(1, "n1"))
		r.Close()
		assert.Empty(r.t, r.log.String())
	})
}

func TestARouterNeedsNodesAndItsFiles(t *testing.T) {
	for _, addresses := range [][]string{nil, make([]string, MaxNodes+1)} {
		_, err := New(t.Context(), Config{Addresses: addresses})
		assert.ErrorContains(t, err, "addresses of nodes, want 1 to 64")
	}
}
