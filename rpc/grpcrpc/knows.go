// The question whether a peer knows this node. A node that finds no store asks it before it
// creates one: if a peer has ever had a message of the node, the node is not new, but has lost
// its store, and its votes with it.

package grpcrpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
)

// KnownBy asks a peer whether it has ever had a message of this node in a group, or may
// have had. An error means that there was no answer.
func (t *Transport) KnownBy(ctx context.Context, node, group string) (known bool, err error) {
	address := t.Address(node)
	if address == "" {
		return false, fmt.Errorf("grpcrpc: %q is no peer", node)
	}
	conn, err := t.dial(address, node)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }() // the call is over
	answer, err := electorpb.NewMemberServiceClient(conn).Knows(ctx, &electorpb.KnowsRequest{From: t.self, To: node, Group: group})
	if err != nil {
		return false, fmt.Errorf("%s: %s", address, Reason(err))
	}
	return answer.GetKnown(), nil
}

// Knows answers a peer's question. Without Config.Knows any peer may be known.
func (m memberService) Knows(ctx context.Context, q *electorpb.KnowsRequest) (*electorpb.KnowsResponse, error) {
	t := m.transport
	if err := t.isAskedBy(ctx, q); err != nil {
		remote, _ := peer.FromContext(ctx)
		t.refuse(RefusedIdentity, "claims", q.GetFrom(), "looks_for", q.GetTo(), "remote", remote.Addr, "error", err)
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	return &electorpb.KnowsResponse{Known: t.knows == nil || t.knows(q.GetFrom(), q.GetGroup())}, nil
}

// isAskedBy checks the names of both nodes in a question: the asking node's certificate must
// match, this node must be meant, and the asking node must be a peer.
func (t *Transport) isAskedBy(ctx context.Context, q *electorpb.KnowsRequest) error {
	if t.tls != nil {
		v, err := handshakeOf(ctx)
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
