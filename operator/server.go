// The node's side.

package operator

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
)

// Register registers a service through which operators reach the host. address returns the
// address of a node, which operators can ask for; empty if it is not known.
func Register(r grpc.ServiceRegistrar, host *elector.Host, address func(node string) string, options ...Option) {
	s := &service{host: host, address: address}
	for _, o := range options {
		o(s)
	}
	electorpb.RegisterOperatorServiceServer(r, s)
}

// Option changes what a node does for operators.
type Option func(*service)

// BeforeResign makes f be called when an operator tells a leader to resign, while it still
// leads. There an engine can end work in an orderly way that would otherwise be cut off with
// its office, because GroupConfig.Pause is called only if another voter can take over.
func BeforeResign(f func(group string)) Option { return func(s *service) { s.beforeResign = f } }

type service struct {
	electorpb.UnimplementedOperatorServiceServer
	host         *elector.Host
	address      func(node string) string
	beforeResign func(group string) // nil: there is none
}

// elector finds the group; if none is named, the only one.
func (s *service) elector(group string) (*elector.Elector, error) {
	if group != "" {
		if el := s.host.Elector(group); el != nil {
			return el, nil
		}
		return nil, status.Errorf(codes.NotFound, "the node has no group %q", group)
	}
	all := s.host.Electors()
	if len(all) != 1 {
		return nil, status.Errorf(codes.InvalidArgument, "the node has %d groups; name one", len(all))
	}
	return all[0], nil
}

// commanded finds the group of a command that is meant for this process.
func (s *service) commanded(group string, incarnation uint64) (*elector.Elector, error) {
	if err := s.meant(incarnation); err != nil {
		return nil, err
	}
	return s.elector(group)
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

func (s *service) Status(ctx context.Context, q *electorpb.StatusRequest) (*electorpb.StatusResponse, error) {
	electors := s.host.Electors()
	if q.GetGroup() != "" {
		el, err := s.elector(q.GetGroup())
		if err != nil {
			return nil, err
		}
		electors = []*elector.Elector{el}
	}
	if len(electors) > mostTogether {
		return nil, status.Errorf(codes.ResourceExhausted, "the node has %d groups, too many for one answer: name a group, or use a version of hustings that asks for many", len(electors))
	}
	all, err := reports(ctx, electors)
	if err != nil {
		return nil, err
	}
	return &electorpb.StatusResponse{Statuses: all}, nil
}

// mostTogether is how many statuses are sent in one message to clients that do not know Statuses. gRPC's
// clients accept 4 MiB, and 400 bytes are more than most names need.
const mostTogether = 10_000

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
	el, err := s.commanded(q.GetGroup(), q.GetIncarnation())
	if err == nil {
		err = el.TransferLeadership(ctx, q.GetTo())
	}
	if err != nil {
		return nil, toStatus(err)
	}
	answer, leader := new(electorpb.TransferResponse), cmp.Or(q.GetTo(), el.Status().Leader)
	if preferred := el.Preferred(); len(preferred) > 0 && !slices.Contains(preferred, leader) {
		// A new leader offers the leadership to one of these once it has led for this long.
		answer.Preferred, answer.UndoneAfterNanos = preferred, int64(el.Timing().Detection())
	}
	return answer, nil
}

func (s *service) Resign(ctx context.Context, q *electorpb.ResignRequest) (*electorpb.ResignResponse, error) {
	el, err := s.commanded(q.GetGroup(), q.GetIncarnation())
	if err == nil {
		err = s.resign(ctx, el)
	}
	return new(electorpb.ResignResponse), toStatus(err)
}

// resign makes a member resign. If beforeResign makes its Lead return, the member resigns by
// itself, and may no longer be the leader.
func (s *service) resign(ctx context.Context, el *elector.Elector) error {
	now := el.Status()
	if s.beforeResign == nil || now.Role != memberstate.Leader {
		return el.Resign(ctx)
	}
	s.beforeResign(now.Group)
	if err := el.Resign(ctx); !errors.Is(err, elector.ErrNotLeader) {
		return err
	}
	return nil
}

func toStatus(err error) error {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return withReasons(status.New(c.code, err.Error()), err).Err()
		}
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return status.FromContextError(err).Err()
}
