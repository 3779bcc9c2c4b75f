package operator

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// serviceOf returns the service of a host with these groups, none of which runs.
func serviceOf(t *testing.T, groups ...string) *service {
	t.Helper()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	for _, group := range groups {
		_, err := host.Join(elector.GroupConfig{
			Group: group, Members: memberstate.Voters("n0", "n1"), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
	}
	return &service{host: host, address: func(node string) string { return "at " + node }}
}

// A group need not be named if it is the only one; otherwise an existing one must be named.
func TestAGroupIsFoundByItsName(t *testing.T) {
	one, two := serviceOf(t, "orders"), serviceOf(t, "orders", "stock")
	for _, group := range []string{"", "orders"} {
		el, err := one.elector(group)
		require.NoError(t, err)
		assert.Equal(t, "orders", el.Status().Group)
	}
	for _, group := range []string{"stock", "orders"} {
		el, err := two.elector(group)
		require.NoError(t, err)
		assert.Equal(t, group, el.Status().Group)
	}
	_, err := serviceOf(t).elector("")
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	for group, want := range map[string]codes.Code{"": codes.InvalidArgument, "nothing": codes.NotFound} {
		ctx := context.Background()
		calls := map[string]func() error{
			"members":  func() error { _, err := two.Members(ctx, &electorpb.MembersRequest{Group: group}); return err },
			"watch":    func() error { return two.Watch(&electorpb.WatchRequest{Group: group}, nil) },
			"transfer": func() error { _, err := two.Transfer(ctx, &electorpb.TransferRequest{Group: group}); return err },
			"resign":   func() error { _, err := two.Resign(ctx, &electorpb.ResignRequest{Group: group}); return err },
		}
		if group != "" { // of all, if none is named
			calls["status"] = func() error { _, err := two.Status(ctx, &electorpb.StatusRequest{Group: group}); return err }
		}
		for name, call := range calls {
			assert.Equal(t, want, status.Code(call()), "%s of %q", name, group)
		}
	}
}

func TestAStatusIsOfAGroupOrOfAll(t *testing.T) {
	s := serviceOf(t, "orders", "stock")
	for group, want := range map[string][]string{"": {"orders", "stock"}, "stock": {"stock"}} {
		answer, err := s.Status(context.Background(), &electorpb.StatusRequest{Group: group})
		require.NoError(t, err)
		var names []string
		for _, one := range answer.GetStatuses() {
			names = append(names, one.GetGroup())
		}
		assert.Equal(t, want, names)
	}
	answer, err := s.Members(context.Background(), &electorpb.MembersRequest{Group: "stock"})
	require.NoError(t, err)
	require.Len(t, answer.GetMembers(), 2)
	assert.Equal(t, "at n1", answer.GetMembers()[1].GetAddress())
}

// errors.As for a TransferError changes nothing if a failed call has no reasons.
func TestACallThatFailedWithoutReasonsIsNoTransferError(t *testing.T) {
	e := &callError{address: "n0", status: status.New(codes.FailedPrecondition, "no")}
	kept := &elector.TransferError{Group: "orders"}
	to := kept
	assert.False(t, e.As(&to))
	assert.Same(t, kept, to)
}

// BeforeResign's function is called while the member leads, and not if it does not lead. If the
// function makes Lead return, the member has already resigned when Resign is called.
func TestBeforeResignIsCalledWhileTheMemberLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
		require.NoError(t, err)
		el, err := host.Join(elector.GroupConfig{
			Group: "orders", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
			Lead: func(ctx context.Context, _ memberstate.Term) error {
				select {
				case <-over:
				case <-ctx.Done():
				}
				return nil
			},
		})
		require.NoError(t, err)
		var called []string
		s := &service{host: host, beforeResign: func(group string) {
			assert.Equal(t, memberstate.Leader, el.Status().Role)
			called = append(called, group)
			close(over)
			synctest.Wait()
			assert.NotEqual(t, memberstate.Leader, el.Status().Role)
		}}
		require.NoError(t, el.Start())
		_, err = s.Resign(t.Context(), new(electorpb.ResignRequest))
		assert.Error(t, err, "it does not lead yet")
		for now := range el.Watch(t.Context()) {
			if now.Role == memberstate.Leader {
				break
			}
		}
		_, err = s.Resign(t.Context(), new(electorpb.ResignRequest))
		require.NoError(t, err)
		assert.Equal(t, []string{"orders"}, called)
		require.NoError(t, el.Stop(t.Context()))
	})
}

// Whether a transfer will be undone depends on who leads after it, also if no voter was named.
func TestATransferAwayFromAPreferredLeaderWillBeUndone(t *testing.T) {
	withCrew(t, 1, func(c crew) {
		t, leader := c.t, c.want(0, "g0").Leader
		s := c.nodes[leader[1]-'0']
		el := s.host.Elector("g0")
		require.NoError(t, el.SetPreferred(leader))
		answer, err := s.Transfer(t.Context(), new(electorpb.TransferRequest))
		require.NoError(t, err)
		assert.Equal(t, []string{leader}, answer.GetPreferred())
		assert.EqualValues(t, el.Timing().Detection(), answer.GetUndoneAfterNanos())
	})
}

// registrar keeps what is registered with it.
type registrar struct{ registered any }

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, impl any) { r.registered = impl }

// An engine that has asked for it relies on being called.
func TestARegisteredServiceHasItsOptions(t *testing.T) {
	var r registrar
	var told []string
	Register(&r, serviceOf(t).host, nil, BeforeResign(func(group string) { told = append(told, group) }))
	registered, is := r.registered.(*service)
	require.True(t, is)
	registered.beforeResign("orders")
	assert.Equal(t, []string{"orders"}, told)
}

// running returns the leader of two nodes, which cannot pause its writes, and a channel that
// blocks its loop.
func running(t *testing.T) (s *service, paused <-chan context.Context, hold chan struct{}) {
	t.Helper()
	network, pauses := rpc.NewNetwork(1), make(chan context.Context, 10)
	hold = make(chan struct{}, 1)
	var electors []*elector.Elector
	for _, node := range []string{"n0", "n1"} {
		host, err := elector.NewHost(elector.HostConfig{Self: node, Store: new(memberstate.MemStore), Transport: gated{network.Join(node), hold}})
		require.NoError(t, err)
		el, err := host.Join(elector.GroupConfig{
			Group: "orders", Members: memberstate.Voters("n0", "n1"), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
			Pause: func(ctx context.Context, _ memberstate.Term) error {
				pauses <- ctx
				<-ctx.Done()
				return ctx.Err()
			},
		})
		require.NoError(t, err)
		require.NoError(t, el.Start())
		electors = append(electors, el)
		t.Cleanup(func() {
			stopped, cancel := context.WithCancel(context.Background())
			cancel()
			assert.NoError(t, el.Stop(stopped))
		})
	}
	for now := range electors[0].Watch(t.Context()) {
		for i, node := range []string{"n0", "n1"} {
			if now.Leader == node {
				return &service{host: electors[i].Host()}, pauses, hold
			}
		}
	}
	require.FailNow(t, "no leader")
	return nil, nil, nil
}

// gated is a transport that blocks its senders while hold is full.
type gated struct {
	rpc.Transport
	hold chan struct{}
}

func (g gated) Send(to string, batch []rpc.Message) {
	g.hold <- struct{}{}
	<-g.hold
	g.Transport.Send(to, batch)
}

// watcher is the stream of a watching operator.
type watcher struct {
	grpc.ServerStream
	ctx context.Context
}

func (w watcher) Context() context.Context          { return w.ctx }
func (watcher) Send(*electorpb.WatchResponse) error { return nil }

// A call ends when its caller goes away, and so does everything that it began: the leader leads
// on, and its writes are not paused.
func TestACallEndsWithItsCaller(t *testing.T) {
	calls := map[string]func(s *service, ctx context.Context) error{
		"status": func(s *service, ctx context.Context) error {
			_, err := s.Status(ctx, new(electorpb.StatusRequest))
			return err
		},
		"nodes": func(s *service, ctx context.Context) error {
			_, err := s.Nodes(ctx, new(electorpb.NodesRequest))
			return err
		},
		"balance": func(s *service, ctx context.Context) error {
			_, err := s.Balance(ctx, new(electorpb.BalanceRequest))
			return err
		},
		"watch": func(s *service, ctx context.Context) error {
			return s.Watch(new(electorpb.WatchRequest), watcher{ctx: ctx})
		},
		"transfer": func(s *service, ctx context.Context) error {
			_, err := s.Transfer(ctx, new(electorpb.TransferRequest))
			return err
		},
		"resign": func(s *service, ctx context.Context) error {
			_, err := s.Resign(ctx, new(electorpb.ResignRequest))
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, paused, hold := running(t)
				ctx, leave := context.WithCancel(t.Context())
				asks := slices.Contains([]string{"status", "nodes", "balance"}, name) // the loop
				if asks {
					hold <- struct{}{}
					<-time.After(2 * elector.DefaultTiming().Heartbeat) // it is stuck by then
				}
				var err error
				over := make(chan struct{})
				go func() {
					defer close(over)
					err = call(s, ctx)
				}()
				synctest.Wait()
				var pausing context.Context
				if name == "transfer" || name == "resign" {
					pausing = <-paused
				}
				leave()
				synctest.Wait()
				select {
				case <-over:
				default:
					assert.Fail(t, "it goes on")
				}
				if asks {
					<-hold
				}
				<-over
				assert.Equal(t, codes.Canceled, status.Code(toStatus(err)))
				if pausing != nil {
					assert.Error(t, pausing.Err(), "writes go on")
					assert.Equal(t, memberstate.Leader, s.host.Electors()[0].Status().Role)
				}
			})
		})
	}
}

// gone is a stream that fails to send.
type gone struct{ watcher }

func (gone) Send(*electorpb.WatchResponse) error { return assert.AnError }

// A watch that cannot send ends with the error.
func TestWatchingEndsWhenNothingCanBeSent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := serviceOf(t, "orders").Watch(new(electorpb.WatchRequest), gone{watcher{ctx: ctx}})
	assert.ErrorIs(t, err, assert.AnError)
}

// A resignation only counts as done if beforeResign has already ended the member's office; any
// other failure is returned.
func TestAResignationThatFailsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, paused, _ := running(t)
		s.beforeResign = func(string) {}
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-paused
			leave()
		}()
		_, err := s.Resign(ctx, new(electorpb.ResignRequest))
		assert.Equal(t, codes.Canceled, status.Code(err))
		assert.Equal(t, memberstate.Leader, s.host.Electors()[0].Status().Role)
	})
}
