// Helpers of many tests: configurations, electors, messages, and calls that are awaited later.

package elector_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// config has both configurations that elector.New takes.
type config struct {
	elector.HostConfig
	elector.GroupConfig
}

// goodConfig is a valid configuration of n0, one of three in group g. The other two do not exist.
func goodConfig() config {
	return config{elector.IsolatedNode(new(memberstate.MemStore)), elector.GroupOf("g", "n0", "n1", "n2")}
}

// singleConfig is goodConfig with n0 as the only member.
func singleConfig() config {
	c := goodConfig()
	c.Members = memberstate.Voters("n0")
	return c
}

func newElector(tb testing.TB, c config) *elector.Elector {
	tb.Helper()
	el, err := elector.New(c.HostConfig, c.GroupConfig)
	require.NoError(tb, err)
	return el
}

func startElector(tb testing.TB, c config) *elector.Elector {
	tb.Helper()
	el := newElector(tb, c)
	require.NoError(tb, el.Start())
	return el
}

// join adds a group with these voters to a host.
func join(tb testing.TB, host *elector.Host, group string, voters ...string) *elector.Elector {
	tb.Helper()
	return elector.MustJoin(tb, host, elector.GroupOf(group, voters...))
}

// digest is the digest of a list of voters, which messages carry.
func digest(tb testing.TB, voters ...string) uint64 {
	tb.Helper()
	members, err := memberstate.NewMembers(memberstate.Voters(voters...))
	require.NoError(tb, err)
	return members.Digest()
}

// heartbeat is one of a leader to another member of group g, whose voters are n0, n1 and n2.
func heartbeat(tb testing.TB, from, to string, term memberstate.Term) rpc.Message {
	tb.Helper()
	return rpc.Message{
		Group: "g", From: from, To: to, Leader: from, Voters: digest(tb, "n0", "n1", "n2"),
		Body: rpc.Body{Kind: rpc.Heartbeat, Term: term, Round: 1},
	}
}

// holdsLease says whether a member holds a lease.
func holdsLease(el *elector.Elector) bool {
	_, _, held := el.Lease()
	return held
}

// endedContext is a context that has ended.
func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// untilEnd is a Lead that serves until its context ends.
func untilEnd(ctx context.Context, _ memberstate.Term) error {
	<-ctx.Done()
	return nil
}

// call is a call under way in another goroutine.
type call struct {
	cancel  context.CancelFunc
	outcome chan error
}

// order begins a call and returns when the call has to wait.
func order(give func(ctx context.Context) error) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{cancel, make(chan error, 1)}
	go func() { c.outcome <- give(ctx) }()
	synctest.Wait()
	return c
}

// transfer orders a leader to hand over; to may be empty.
func transfer(leader *node, to string) *call {
	return order(func(ctx context.Context) error { return leader.el.TransferLeadership(ctx, to) })
}

// answered is the outcome of the call, which must have returned by now.
func (c *call) answered(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-c.outcome:
		return err
	default:
		t.Fatal("the caller still waits")
		return nil
	}
}

// withdraw ends the context of the call, which must return with the context's error.
func (c *call) withdraw(t *testing.T, what ...any) {
	t.Helper()
	c.cancel()
	require.ErrorIs(t, c.answered(t), context.Canceled, what...)
}
