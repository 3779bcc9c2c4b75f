// Taking a node out of service, and back into it.

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// StuckError says that a node still leads groups, because nobody can take them over for now. It wraps an
// *elector.StuckError.
type StuckError struct {
	// Address is the node's.
	Address string
	// Groups are some of those that are left: at most 100 for each reason.
	Groups []protocol.StuckGroup

	stuck elector.StuckError
}

func (e *StuckError) Error() string { return e.Address + ": " + e.stuck.Error() }

func (e *StuckError) Unwrap() error { return &e.stuck }

// ErrNotKept is the error of DrainAndKeep if the node drains, and a new process of it will serve all the same: its version
// of hustings does not know better, or somebody has called Undrain meanwhile.
var ErrNotKept = errors.New("the node drains, but does not stay drained when it is started again: its version of hustings is older, or it has been undrained")

// Drain has the node hand over all groups that it leads, as elector.Host.Drain does, and lead nothing more until Undrain. It
// calls each, unless it is nil, about once a second with how far that has come, and returns how far it has come in the end.
//
// The error is nil once the node leads nothing. It is a *StuckError after the time to wait, or before if nobody is
// there to take over what is left; if the time is zero, when all groups that are left have been tried several times. The end of the
// context ends only the call. In each of these cases the node goes on draining. If it is protected, the error wraps
// elector.ErrProtected, and it goes on once that is over.
func (c *Client) Drain(ctx context.Context, wait time.Duration, each func(elector.Progress)) (last elector.Progress, err error) {
	return c.drain(ctx, &electorpb.DrainRequest{WaitNanos: int64(wait)}, each)
}

// DrainAndKeep does what Drain does, and has processes of the node that are started later begin drained, until Undrain: see
// elector.Host.KeepDrained. If that cannot be saved, the node does not drain. If the node does not know how to, the error is ErrNotKept,
// and the node drains.
func (c *Client) DrainAndKeep(ctx context.Context, wait time.Duration, each func(elector.Progress)) (last elector.Progress, err error) {
	return c.drain(ctx, &electorpb.DrainRequest{WaitNanos: int64(wait), Keep: true}, each)
}

// InFlight returns a client that uses the same connection, and whose drains hand over so many groups at a time; 0: 128, as
// elector.Host.DrainInFlight does. Nodes of older versions do not look at it.
func (c *Client) InFlight(groups uint32) *Client {
	paced := *c
	paced.inFlight = groups
	return &paced
}

func (c *Client) drain(ctx context.Context, q *electorpb.DrainRequest, each func(elector.Progress)) (last elector.Progress, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q.Incarnation, q.InFlight = c.incarnation, c.inFlight
	stream, err := c.calls.Drain(ctx, q)
	for err == nil {
		var answer *electorpb.DrainResponse
		if answer, err = stream.Recv(); err != nil {
			break
		}
		last = decodeProgress(answer.GetProgress())
		switch {
		case q.GetKeep() && !last.Kept && last.Standing.State != rpc.Serving:
			return last, fmt.Errorf("%s: %w", c.address, ErrNotKept)
		case answer.GetEnded() != nil:
			return last, c.drainEnded(last, answer.GetEnded())
		}
		if each != nil {
			each(last)
		}
	}
	if errors.Is(err, io.EOF) {
		err = status.Error(codes.Internal, "the node did not say how the drain ended")
	}
	return last, c.explain(err)
}

// drainEnded is the error of a drain that has ended like this.
func (c *Client) drainEnded(now elector.Progress, end *electorpb.DrainEnd) error {
	switch now.Standing.State {
	case rpc.Drained:
		return nil
	case rpc.Serving:
		return fmt.Errorf("%s: %w", c.address, elector.ErrServing)
	case rpc.Starting, rpc.Draining:
	}
	failed := &StuckError{Address: c.address, stuck: elector.StuckError{Progress: now}}
	switch {
	case end.GetProtected():
		failed.stuck.Cause = elector.ErrProtected
	case end.GetLate():
		failed.stuck.Cause = context.DeadlineExceeded
	}
	for _, g := range end.GetLeft() {
		failed.Groups = append(failed.Groups, protocol.StuckGroup{Group: g.GetGroup(), Why: decodeStuck(g.GetWhy()), Tries: int(g.GetTries())})
	}
	return failed
}

// Undrain has the node take its share of leading again, also after it is started again. Nothing is fetched back at once. A node that still
// starts serves when its engine says so.
func (c *Client) Undrain(ctx context.Context) error {
	_, err := c.calls.Undrain(ctx, &electorpb.UndrainRequest{Incarnation: c.incarnation})
	return c.explain(err)
}

// Protect has the node hand over nothing of its own accord, or do so again; see [elector.Host.Protect].
func (c *Client) Protect(ctx context.Context, on bool) error {
	_, err := c.calls.Protect(ctx, &electorpb.ProtectRequest{Incarnation: c.incarnation, On: on})
	return c.explain(err)
}

// drainEvery is how often a node says how far its drain has come.
const drainEvery = time.Second

// Drain is the node's side.
func (s *service) Drain(q *electorpb.DrainRequest, stream grpc.ServerStreamingServer[electorpb.DrainResponse]) error {
	if err := s.meant(q.GetIncarnation()); err != nil {
		return toStatus(err)
	}
	if q.GetInFlight() > math.MaxInt32 {
		return status.Errorf(codes.InvalidArgument, "%d groups at a time are too many", q.GetInFlight())
	}
	if q.GetKeep() {
		if err := s.host.KeepDrained(true); err != nil {
			return toStatus(err)
		}
	}
	ctx, cancel, wait := stream.Context(), func() {}, time.Duration(q.GetWaitNanos())
	if wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.host.DrainInFlight(ctx, int(q.GetInFlight()), wait > 0) }()
	again := time.NewTicker(drainEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C: // if it cannot be sent, the context ends
			_ = stream.Send(&electorpb.DrainResponse{Progress: encodeProgress(s.host.Progress())})
		case err := <-ended:
			return s.drainEnded(stream, err)
		}
	}
}

// drainEnded says how a drain has ended.
func (s *service) drainEnded(stream grpc.ServerStreamingServer[electorpb.DrainResponse], err error) error {
	end := new(electorpb.DrainEnd)
	stuck, isStuck := errors.AsType[*elector.StuckError](err)
	switch {
	case stream.Context().Err() != nil:
		return status.FromContextError(stream.Context().Err()).Err()
	case isStuck:
		left, err := s.host.StuckGroups(stream.Context())
		if err != nil {
			return toStatus(err)
		}
		end.Late, end.Protected = errors.Is(stuck, context.DeadlineExceeded), errors.Is(stuck, elector.ErrProtected)
		for _, g := range left {
			end.Left = append(end.Left, &electorpb.StuckGroup{Group: g.Group, Why: stucks[g.Why], Tries: uint32(g.Tries)})
		}
	case err != nil && !errors.Is(err, elector.ErrServing):
		return toStatus(err)
	}
	return stream.Send(&electorpb.DrainResponse{Progress: encodeProgress(s.host.Progress()), Ended: end})
}

// Undrain is the node's side. Whether the engine of a node that starts can lead, only the engine knows.
func (s *service) Undrain(_ context.Context, q *electorpb.UndrainRequest) (*electorpb.UndrainResponse, error) {
	if err := s.meant(q.GetIncarnation()); err != nil {
		return nil, toStatus(err)
	}
	if p := s.host.Progress(); p.Standing.State == rpc.Starting && !p.Kept {
		return nil, status.Errorf(codes.InvalidArgument, "node %q does not drain, it is starting: it will serve when its engine says so", s.host.Self())
	}
	return new(electorpb.UndrainResponse), toStatus(s.host.Undrain())
}

// Protect is the node's side.
func (s *service) Protect(_ context.Context, q *electorpb.ProtectRequest) (*electorpb.ProtectResponse, error) {
	if err := s.meant(q.GetIncarnation()); err != nil {
		return nil, toStatus(err)
	}
	return new(electorpb.ProtectResponse), toStatus(s.host.Protect(q.GetOn()))
}
