// The side of the node.

package operator

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
)

// Register offers a host to operators. The address of a node is what others are
// told when they ask where it is; empty if that is not known.
func Register(r grpc.ServiceRegistrar, host *elector.Host, address func(node string) string) {
	electorpb.RegisterOperatorServiceServer(r, &service{host: host, address: address})
}

type service struct {
	electorpb.UnimplementedOperatorServiceServer
	host    *elector.Host
	address func(node string) string
}

// elector finds the group; if none is named, the one that there is.
func (s *service) elector(group string) (*elector.Elector, error) {
	all := s.host.Electors()
	if group == "" && len(all) == 1 {
		return all[0], nil
	}
	for _, el := range all {
		if el.Status().Group == group {
			return el, nil
		}
	}
	if group == "" {
		return nil, status.Errorf(codes.InvalidArgument, "the node has %d groups; say which", len(all))
	}
	return nil, status.Errorf(codes.NotFound, "the node has no group %q", group)
}

func (s *service) Members(_ context.Context, q *electorpb.MembersRequest) (*electorpb.MembersResponse, error) {
	el, err := s.elector(q.GetGroup())
	if err != nil {
		return nil, err
	}
	answer := new(electorpb.MembersResponse)
	for _, m := range el.Members() {
		answer.Members = append(answer.Members, &electorpb.Member{Id: m.ID, Observer: m.Observer, Address: s.address(m.ID)})
	}
	return answer, nil
}

func (s *service) Status(_ context.Context, q *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	answer := new(electorpb.StatusResponse)
	if q.GetGroup() == "" {
		for _, el := range s.host.Electors() {
			answer.Statuses = append(answer.Statuses, encode(el.Status()))
		}
		return answer, nil
	}
	el, err := s.elector(q.GetGroup())
	if err != nil {
		return nil, err
	}
	answer.Statuses = append(answer.Statuses, encode(el.Status()))
	return answer, nil
}

func (s *service) Watch(q *electorpb.WatchRequest, stream grpc.ServerStreamingServer[electorpb.WatchResponse]) error {
	el, err := s.elector(q.GetGroup())
	if err != nil {
		return err
	}
	for now := range el.Watch(stream.Context()) {
		if err := stream.Send(&electorpb.WatchResponse{Status: encode(now)}); err != nil {
			return err
		}
	}
	return stream.Context().Err()
}

func (s *service) Transfer(ctx context.Context, q *electorpb.TransferRequest) (*electorpb.TransferResponse, error) {
	el, err := s.elector(q.GetGroup())
	if err == nil {
		err = el.TransferLeadership(ctx, q.GetTo())
	}
	return new(electorpb.TransferResponse), toStatus(err)
}

func (s *service) Resign(ctx context.Context, q *electorpb.ResignRequest) (*electorpb.ResignResponse, error) {
	el, err := s.elector(q.GetGroup())
	if err == nil {
		err = el.Resign(ctx)
	}
	return new(electorpb.ResignResponse), toStatus(err)
}

// causes are the errors that a caller may want to tell apart, and how they travel.
var causes = []struct {
	err  error
	code codes.Code
}{
	{elector.ErrNotLeader, codes.FailedPrecondition},
	{elector.ErrTransferInProgress, codes.AlreadyExists},
	{elector.ErrTransferFailed, codes.Aborted},
	{elector.ErrStopped, codes.Unavailable},
}

func toStatus(err error) error {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return status.Error(c.code, err.Error())
		}
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return status.FromContextError(err).Err()
}

var roles = map[memberstate.Role]electorpb.Role{
	memberstate.Candidate: electorpb.Role_ROLE_CANDIDATE,
	memberstate.Follower:  electorpb.Role_ROLE_FOLLOWER,
	memberstate.Leader:    electorpb.Role_ROLE_LEADER,
	memberstate.Observer:  electorpb.Role_ROLE_OBSERVER,
}

func encode(s elector.Status) *electorpb.Status {
	return &electorpb.Status{
		Group: s.Group, Node: s.Self, Role: roles[s.Role], Term: uint64(s.Term),
		Leader: s.Leader, Vote: s.Vote, Revision: s.Revision, Stopped: s.Stopped,
	}
}
