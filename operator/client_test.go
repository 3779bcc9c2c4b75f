package operator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/proto/electorpb"
)

// hung is a node that answers no call. It sends when it has one, and waits until its caller has gone.
type hung struct {
	electorpb.UnimplementedOperatorServiceServer
	asked chan struct{}
	old   bool // it knows only the calls of the first version
}

func (h hung) hang(ctx context.Context) error {
	h.asked <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// hangNew hangs in a call that an old node does not know.
func (h hung) hangNew(ctx context.Context) error {
	if h.old {
		return status.Error(codes.Unimplemented, "it is an old node")
	}
	return h.hang(ctx)
}

func (h hung) Members(ctx context.Context, _ *electorpb.MembersRequest) (*electorpb.MembersResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Status(ctx context.Context, _ *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Statuses(_ *electorpb.StatusesRequest, s grpc.ServerStreamingServer[electorpb.StatusesResponse]) error {
	return h.hangNew(s.Context())
}

func (h hung) Summary(ctx context.Context, _ *electorpb.SummaryRequest) (*electorpb.SummaryResponse, error) {
	return nil, h.hangNew(ctx)
}

func (h hung) Watch(_ *electorpb.WatchRequest, s grpc.ServerStreamingServer[electorpb.WatchResponse]) error {
	return h.hang(s.Context())
}

func (h hung) Table(_ *electorpb.TableRequest, s grpc.ServerStreamingServer[electorpb.TableResponse]) error {
	return h.hang(s.Context())
}

func (h hung) Transfer(ctx context.Context, _ *electorpb.TransferRequest) (*electorpb.TransferResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Resign(ctx context.Context, _ *electorpb.ResignRequest) (*electorpb.ResignResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Settings(ctx context.Context, _ *electorpb.SettingsRequest) (*electorpb.SettingsResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Nodes(ctx context.Context, _ *electorpb.NodesRequest) (*electorpb.NodesResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Drain(_ *electorpb.DrainRequest, s grpc.ServerStreamingServer[electorpb.DrainResponse]) error {
	return h.hang(s.Context())
}

func (h hung) Undrain(ctx context.Context, _ *electorpb.UndrainRequest) (*electorpb.UndrainResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Protect(ctx context.Context, _ *electorpb.ProtectRequest) (*electorpb.ProtectResponse, error) {
	return nil, h.hang(ctx)
}

func (h hung) Balance(ctx context.Context, _ *electorpb.BalanceRequest) (*electorpb.BalanceResponse, error) {
	return nil, h.hang(ctx)
}

// An operator who has waited for long enough can always give up.
func TestEveryCallEndsWithItsContext(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *Client) error{
		"members":  func(ctx context.Context, c *Client) error { _, err := c.Members(ctx, "orders"); return err },
		"status":   func(ctx context.Context, c *Client) error { _, err := c.Status(ctx, "orders"); return err },
		"transfer": func(ctx context.Context, c *Client) error { _, err := c.Transfer(ctx, "orders", "n1"); return err },
		"resign":   func(ctx context.Context, c *Client) error { return c.Resign(ctx, "orders") },
		"settings": func(ctx context.Context, c *Client) error { _, err := c.Settings(ctx, "orders", Changes{}); return err },
		"nodes":    func(ctx context.Context, c *Client) error { _, err := c.Nodes(ctx); return err },
		"undrain":  func(ctx context.Context, c *Client) error { return c.Undrain(ctx) },
		"protect":  func(ctx context.Context, c *Client) error { return c.Protect(ctx, true) },
		"balance":  func(ctx context.Context, c *Client) error { _, err := c.Balance(ctx, 0); return err },
		"plan":     func(ctx context.Context, c *Client) error { _, err := c.BalancePlan(ctx); return err },
		"drain": func(ctx context.Context, c *Client) error {
			_, err := c.Drain(ctx, 0, func(now elector.Progress) { assert.Fail(t, "it has nothing to say", "%v", now) })
			return err
		},
		"summary": func(ctx context.Context, c *Client) error { _, err := c.Summary(ctx, "", 1); return err },
		"statuses": func(ctx context.Context, c *Client) (err error) {
			for _, err = range c.Statuses(ctx, "") {
				assert.Error(t, err)
			}
			return err
		},
		"watch": func(ctx context.Context, c *Client) error {
			for now, err := range c.Watch(ctx, "orders") {
				assert.Fail(t, "it has nothing to show", "%v %v", now, err)
			}
			return ctx.Err()
		},
		"table": func(ctx context.Context, c *Client) error {
			for rows, err := range c.Table(ctx, "") {
				assert.Fail(t, "it has nothing to show", "%v %v", rows, err)
			}
			return ctx.Err()
		},
		"who leads": func(ctx context.Context, c *Client) error {
			_, err := DialLeader(ctx, []string{c.Address()}, nil, "orders")
			return err
		},
	}
	for name, call := range calls {
		for _, old := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				node := hung{asked: make(chan struct{}), old: old}
				c := dialled(t, node)
				ctx, giveUp := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- call(ctx, c) }()
				<-node.asked
				giveUp()
				select {
				case err := <-over:
					assert.ErrorIs(t, err, context.Canceled)
				case <-time.After(20 * time.Second):
					require.Fail(t, "it goes on")
				}
			})
		}
	}
}
