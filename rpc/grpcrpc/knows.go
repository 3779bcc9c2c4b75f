// The question whether a peer knows this node. A node that finds no store asks it
// before it makes one: if a peer has ever had a message of it, it is not new but has
// lost its store, and with it the knowledge of whom it voted for.

package grpcrpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
)

// KnownBy asks a peer whether it has ever had a message of this node in a group, or
// may have had. An error means that it is not known whether it has.
func (t *Transport) KnownBy(ctx context.Context, node, group string) (known bool, err error) {
	address := t.Address(node)
	if address == "" {
		return false, fmt.Errorf("grpcrpc: %q is no peer", node)
	}
	conn, err := t.dial(address, node)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }() // the answer is there, or is not
	answer, err := electorpb.NewMemberServiceClient(conn).Knows(ctx, &electorpb.KnowsRequest{From: t.self, To: node, Group: group})
	if err != nil {
		return false, fmt.Errorf("%s: %s", address, Reason(err))
	}
	return answer.GetKnown(), nil
}

// Knows answers a peer's question. Without a memory of peers any may be known.
func (m memberService) Knows(ctx context.Context, q *electorpb.KnowsRequest) (*electorpb.KnowsResponse, error) {
	t := m.transport
	if err := t.isAskedBy(ctx, q); err != nil {
		remote, _ := peer.FromContext(ctx)
		t.refuse(RefusedIdentity, "claims", q.GetFrom(), "looks_for", q.GetTo(), "remote", remote.Addr, "error", err)
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	return &electorpb.KnowsResponse{Known: t.knows == nil || t.knows(q.GetFrom(), q.GetGroup())}, nil
}

// isAskedBy holds what a question says of who asks, and who is asked, against what
// is known of both.
func (t *Transport) isAskedBy(ctx context.Context, q *electorpb.KnowsRequest) error {
	if t.tls != nil {
		v, err := visitorOf(ctx)
		if err != nil {
			return err
		}
		who, err := v.identity()
		if err != nil {
			return err
		}
		if who.Name != q.GetFrom() {
			return fmt.Errorf("the certificate is that of %v", who)
		}
	}
	if q.GetTo() != t.self {
		return fmt.Errorf("this is node %s", t.self)
	}
	if t.Address(q.GetFrom()) == "" {
		return fmt.Errorf("%q is not one of the peers of node %s", q.GetFrom(), t.self)
	}
	return nil
}
