// The table of leaders, for programs that route requests to them. It is level-triggered: a reader has the newest row of
// each group, and none of the rows in between. The rows have no numbers of their own, because terms already say which of
// two rows is newer, whichever nodes they come from; so a reader that connects anew gets all rows.
//
// A row does not say who will lead next if its leader drains. Only the leader learns which voter has caught up, when it
// hands over, and the new leader's row follows within the same moment.

package operator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
)

// Row is what a node knows of a group's leader.
type Row struct {
	Group string
	// Term is the newest one that the node knows, and Leader leads it; empty if the node knows no leader. Of two rows, the
	// one with the larger term is newer, also if another node has sent it.
	Term   memberstate.Term
	Leader string
	// Address is the leader's in the node's configuration, or if the node itself leads, the one that it was asked at. It is
	// that of elections; an engine that serves elsewhere goes by Leader.
	Address string
	// Ended says that the group takes part at this node no more, so the node knows no leader. It may go on at others.
	Ended bool
}

// Rows are some rows of a node's table.
type Rows struct {
	Node string
	// Rows are of different groups. One without a leader may be older than a row of another node.
	Rows []Row
	// Current says that with these rows the table is complete: groups of which no row has come do not take part at the node.
	// From then on rows come when something changes.
	Current bool
}

// Table yields who leads each of the node's groups whose names have a prefix, many at a time, and from then on the newest row
// of each group that has changed, until the context ends or an error occurs, which is yielded last. A slow reader skips rows,
// but never the latest one of a group.
func (c *Client) Table(ctx context.Context, prefix string) iter.Seq2[Rows, error] {
	return func(yield func(Rows, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.calls.Table(ctx, &electorpb.TableRequest{Prefix: prefix})
		for err == nil {
			var answer *electorpb.TableResponse
			if answer, err = stream.Recv(); err == nil && !yield(decodeRows(answer, c.address), nil) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			err = status.Error(codes.Unavailable, "the node has ended its table")
		}
		if ctx.Err() == nil {
			yield(Rows{}, c.explain(err))
		}
	}
}

// Table is the node's side. What waits for a slow caller is a name for each group that has changed, and what gRPC has accepted.
func (s *service) Table(q *electorpb.TableRequest, stream grpc.ServerStreamingServer[electorpb.TableResponse]) error {
	told := false // that the table is complete
	for some, current := range s.host.WatchBatches(stream.Context(), together) {
		answer := &electorpb.TableResponse{Node: s.host.Self(), Current: current}
		for _, now := range some {
			if strings.HasPrefix(now.Group, q.GetPrefix()) {
				answer.Rows = append(answer.Rows, s.encodeRow(now))
			}
		}
		if len(answer.Rows) == 0 && current == told {
			continue
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
		told = current
	}
	return status.FromContextError(stream.Context().Err()).Err()
}

func (s *service) encodeRow(now elector.Status) *electorpb.TableRow {
	row := &electorpb.TableRow{Group: now.Group, Term: uint64(now.Term), Ended: now.Stopped}
	if now.Leader == "" || now.Stopped { // the last leader that it knew may lead no more
		return row
	}
	row.Leader = now.Leader
	if now.Leader != now.Self {
		row.Address = s.address(now.Leader)
	}
	return row
}

// decodeRows reads rows of the node that was asked at an address.
func decodeRows(answer *electorpb.TableResponse, asked string) Rows {
	all := Rows{Node: answer.GetNode(), Current: answer.GetCurrent()}
	for _, w := range answer.GetRows() {
		row := Row{Group: w.GetGroup(), Term: memberstate.Term(w.GetTerm()), Leader: w.GetLeader(), Address: w.GetAddress(), Ended: w.GetEnded()}
		if row.Leader != "" && row.Leader == all.Node {
			row.Address = cmp.Or(row.Address, asked)
		}
		all.Rows = append(all.Rows, row)
	}
	return all
}
