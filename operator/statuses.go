// The statuses of very many groups. They do not fit into one message, so they are sent as a stream.

package operator

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/proto/electorpb"
)

// Statuses yields the node's state in all its groups whose names have a prefix, in the order of their names,
// until the context ends or an error occurs, which is yielded last. The states are of slightly different
// times.
func (c *Client) Statuses(ctx context.Context, prefix string) iter.Seq2[elector.Report, error] {
	return func(yield func(elector.Report, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.calls.Statuses(ctx, &electorpb.StatusesRequest{Prefix: prefix})
		for err == nil {
			var answer *electorpb.StatusesResponse
			if answer, err = stream.Recv(); err == nil && !yieldAll(answer.GetStatuses(), "", yield) {
				return
			}
		}
		if status.Code(err) == codes.Unimplemented { // by an older node, which has one message for all
			var answer *electorpb.StatusResponse
			if answer, err = c.calls.Status(ctx, new(electorpb.StatusRequest)); err == nil {
				yieldAll(answer.GetStatuses(), prefix, yield)
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(elector.Report{}, c.explain(err))
		}
	}
}

// yieldAll yields the statuses of groups whose names have a prefix, and says whether more are wanted.
func yieldAll(all []*electorpb.Status, prefix string, yield func(elector.Report, error) bool) bool {
	for _, s := range all {
		if strings.HasPrefix(s.GetGroup(), prefix) && !yield(decodeReport(s), nil) {
			return false
		}
	}
	return true
}

// together is how many statuses are in a message. Even with the longest names they have less than 1 MiB.
const together = 256

// Statuses is the node's side.
func (s *service) Statuses(q *electorpb.StatusesRequest, stream grpc.ServerStreamingServer[electorpb.StatusesResponse]) error {
	var next []*elector.Elector
	for _, el := range s.host.Electors() {
		if !strings.HasPrefix(el.Status().Group, q.GetPrefix()) {
			continue
		}
		if next = append(next, el); len(next) == together {
			if err := s.send(next, stream); err != nil {
				return err
			}
			next = next[:0]
		}
	}
	return s.send(next, stream)
}

// send sends the statuses of some groups.
func (s *service) send(some []*elector.Elector, stream grpc.ServerStreamingServer[electorpb.StatusesResponse]) error {
	if len(some) == 0 {
		return nil
	}
	all, err := reports(stream.Context(), some)
	if err != nil {
		return err
	}
	return stream.Send(&electorpb.StatusesResponse{Statuses: all})
}

// reports asks all groups at once, because each answer waits for a turn of the host's loop, which may take long
// if the host has much to do.
func reports(ctx context.Context, some []*elector.Elector) ([]*electorpb.Status, error) {
	all, problems := make([]*electorpb.Status, len(some)), make([]error, len(some))
	var asking sync.WaitGroup
	for i, el := range some {
		asking.Go(func() {
			r, err := el.Report(ctx)
			all[i], problems[i] = encodeReport(r), err
		})
	}
	asking.Wait()
	for _, err := range problems {
		if err != nil {
			return nil, status.FromContextError(err).Err()
		}
	}
	return all, nil
}
