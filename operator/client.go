// The operator's side.

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

	incarnation uint64 // of the process that its commands are meant for; 0: any
	inFlight    uint32 // groups that a drain hands over at a time; 0: as many as is usual
}

// Member is a member of a group with its address.
type Member struct {
	memberstate.Member
	Address string // empty: unknown, or that of the node that was asked
}

// String returns the member, with its address if that is known: "n1 at host:7000".
func (m Member) String() string {
	if m.Address == "" {
		return m.Member.String()
	}
	return m.Member.String() + " at " + m.Address
}

// Dial returns a client for the node at an address. files name an operator's certificate; nil
// for a node without TLS. The client connects with its first call.
func Dial(address string, files *grpcrpc.TLS) (*Client, error) {
	conn, err := grpcrpc.Dial(address, files)
	if err != nil {
		return nil, err
	}
	return &Client{address: address, conn: conn, calls: electorpb.NewOperatorServiceClient(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Address returns the node's address.
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

// Status returns the node's state in a group, or in all its groups if none is named. A node that has very many
// refuses that, because their states do not fit into one message; Statuses returns any number.
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

// Watch yields the node's status in a group, now and after every change, until the context
// ends, the member has stopped, or an error occurs, which is yielded last.
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

// Undoing says that a transfer away from a preferred voter will be undone: the new leader will
// hand over to a preferred voter.
type Undoing struct {
	Preferred []string
	// After is the least time that the new leader leads before that.
	After time.Duration
}

// String returns the prospect, as in "n0 or n1 will be offered the leadership after 30s".
func (u Undoing) String() string {
	return fmt.Sprintf("%s will be offered the leadership after %v", strings.Join(u.Preferred, " or "), u.After)
}

// Transfer makes the node, which must lead the group, hand over to a voter, or to the one
// that is best prepared if none is named. It returns when a later term has a leader, with an
// Undoing if the transfer will be undone. If it fails, a *elector.TransferError gives the
// reason for each voter that was considered.
func (c *Client) Transfer(ctx context.Context, group, to string) (*Undoing, error) {
	answer, err := c.calls.Transfer(ctx, &electorpb.TransferRequest{Group: group, To: to, Incarnation: c.incarnation})
	if err != nil {
		return nil, c.explain(err)
	}
	if len(answer.GetPreferred()) == 0 {
		return nil, nil
	}
	return &Undoing{answer.GetPreferred(), time.Duration(answer.GetUndoneAfterNanos())}, nil
}

// Resign makes the node, which must lead the group, give up the leadership.
func (c *Client) Resign(ctx context.Context, group string) error {
	_, err := c.calls.Resign(ctx, &electorpb.ResignRequest{Group: group, Incarnation: c.incarnation})
	return c.explain(err)
}

// callError is a failed call. errors.Is and errors.As also find the node's own error in it.
type callError struct {
	address string
	status  *status.Status
}

func (e *callError) Error() string { return e.address + ": " + grpcrpc.Reason(e.status.Err()) }

// As finds an *elector.TransferError.
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
	s := status.Convert(err)
	switch s.Code() {
	case codes.OK:
		return nil
	case codes.Unimplemented:
		s = status.New(codes.Unimplemented, "the node runs a version of hustings that does not know this call")
	default:
	}
	return &callError{c.address, s}
}
