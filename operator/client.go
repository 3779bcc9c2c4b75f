// The side of the operator.

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// Client is an operator's connection to a node.
type Client struct {
	address string
	conn    *grpc.ClientConn
	calls   electorpb.OperatorServiceClient
}

// Member is a member of a group, and where it is said to be.
type Member struct {
	memberstate.Member
	Address string // empty: the node asked, or unknown
}

// String is the member, and its address if that is known: "n1 at host:7000".
func (m Member) String() string {
	if m.Address == "" {
		return m.Member.String()
	}
	return m.Member.String() + " at " + m.Address
}

// Dial is a connection to the node at an address. The files are an operator's; nil
// for a node without TLS. It connects with the first call.
func Dial(address string, files *grpcrpc.TLS) (*Client, error) {
	conn, err := grpcrpc.Dial(address, files)
	if err != nil {
		return nil, err
	}
	return &Client{address, conn, electorpb.NewOperatorServiceClient(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Address is that of the node.
func (c *Client) Address() string { return c.address }

// Members lists the members of a group, the voters first.
func (c *Client) Members(ctx context.Context, group string) ([]Member, error) {
	answer, err := c.calls.Members(ctx, &electorpb.MembersRequest{Group: group})
	if err != nil {
		return nil, c.explain(err)
	}
	var members []Member
	for _, m := range answer.GetMembers() {
		members = append(members, Member{memberstate.Member{ID: m.GetId(), Observer: m.GetObserver()}, m.GetAddress()})
	}
	return members, nil
}

// Status tells what the node is in a group, or in all if none is named.
func (c *Client) Status(ctx context.Context, group string) ([]elector.Report, error) {
	answer, err := c.calls.Status(ctx, &electorpb.StatusRequest{Group: group})
	if err != nil {
		return nil, c.explain(err)
	}
	var all []elector.Report
	for _, s := range answer.GetStatuses() {
		all = append(all, decodeReport(s))
	}
	return all, nil
}

// Watch yields what the node is in a group, now and after every change, until the
// context ends, the member has stopped, or an error, which comes last.
func (c *Client) Watch(ctx context.Context, group string) iter.Seq2[elector.Status, error] {
	return func(yield func(elector.Status, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.calls.Watch(ctx, &electorpb.WatchRequest{Group: group})
		for err == nil {
			var answer *electorpb.WatchResponse
			if answer, err = stream.Recv(); err == nil && !yield(decode(answer.GetStatus()), nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) && ctx.Err() == nil {
			yield(elector.Status{}, c.explain(err))
		}
	}
}

// Undoing is what becomes of a transfer away from a voter that is preferred: the new
// leader will hand over to one of those that are.
type Undoing struct {
	Preferred []string
	// After is how long the new leader leads at least before it does.
	After time.Duration
}

// String says what comes, as in "n0 or n1 shall lead again after 30s".
func (u Undoing) String() string {
	return fmt.Sprintf("%s shall lead again after %v", strings.Join(u.Preferred, " or "), u.After)
}

// Transfer has the node, which must lead the group, hand over to a voter, or to
// the best one if none is named. It returns when a later term has a leader, and says
// whether that will be undone; nil if not. If it fails, a *elector.TransferError says
// why, for each voter that was considered.
func (c *Client) Transfer(ctx context.Context, group, to string) (*Undoing, error) {
	answer, err := c.calls.Transfer(ctx, &electorpb.TransferRequest{Group: group, To: to})
	if err != nil {
		return nil, c.explain(err)
	}
	if len(answer.GetPreferred()) == 0 {
		return nil, nil
	}
	return &Undoing{answer.GetPreferred(), time.Duration(answer.GetUndoneAfterNanos())}, nil
}

// Resign has the node, which must lead the group, give the leadership up.
func (c *Client) Resign(ctx context.Context, group string) error {
	_, err := c.calls.Resign(ctx, &electorpb.ResignRequest{Group: group})
	return c.explain(err)
}

// callError is a failed call. It is also the error that the node had.
type callError struct {
	address string
	status  *status.Status
}

func (e *callError) Error() string { return e.address + ": " + grpcrpc.Reason(e.status.Err()) }

// As is for an *elector.TransferError.
func (e *callError) As(target any) bool {
	to, is := target.(**elector.TransferError)
	if !is {
		return false
	}
	failed := reasons(e.status)
	if failed == nil {
		return false
	}
	*to = failed
	return true
}

func (e *callError) GRPCStatus() *status.Status { return e.status }

func (e *callError) Is(target error) bool {
	for _, c := range causes {
		if c.err == target && c.code == e.status.Code() {
			return true
		}
	}
	switch target {
	case context.DeadlineExceeded:
		return e.status.Code() == codes.DeadlineExceeded
	case context.Canceled:
		return e.status.Code() == codes.Canceled
	}
	return false
}

func (c *Client) explain(err error) error {
	if err == nil {
		return nil
	}
	return &callError{c.address, status.Convert(err)}
}
