// What a client makes of the answers of a node that drains, and what it leaves behind.

package operator

import (
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

// telling is a node that tells this of a drain, of its table, and of its groups. Then it ends the call, unless somebody wants to know when the
// caller has left.
type telling struct {
	electorpb.UnimplementedOperatorServiceServer
	drain []*electorpb.DrainResponse
	asked *electorpb.DrainRequest
	left  chan struct{} // closed when the caller has left; nil: nobody wants to know
}

func (n *telling) Drain(q *electorpb.DrainRequest, stream grpc.ServerStreamingServer[electorpb.DrainResponse]) error {
	n.asked = q
	for _, told := range n.drain {
		if err := stream.Send(told); err != nil {
			return err
		}
	}
	return n.end(stream)
}

func (n *telling) Table(_ *electorpb.TableRequest, stream grpc.ServerStreamingServer[electorpb.TableResponse]) error {
	if err := stream.Send(&electorpb.TableResponse{Current: true}); err != nil {
		return err
	}
	return n.end(stream)
}

func (n *telling) Statuses(_ *electorpb.StatusesRequest, stream grpc.ServerStreamingServer[electorpb.StatusesResponse]) error {
	if err := stream.Send(&electorpb.StatusesResponse{Statuses: []*electorpb.Status{{Group: "orders"}}}); err != nil {
		return err
	}
	return n.end(stream)
}

func (n *telling) end(stream grpc.ServerStream) error {
	if n.left != nil {
		<-stream.Context().Done()
		close(n.left)
	}
	return nil
}

// leads is what a node says that still leads so many groups.
func leads(groups uint64) *electorpb.DrainResponse {
	return &electorpb.DrainResponse{Progress: &electorpb.Progress{State: electorpb.NodeState_NODE_STATE_DRAINING, Led: groups}}
}

// Who does not want to see how far a drain has come gives no function.
func TestADrainNeedsNobodyWhoWatchesIt(t *testing.T) {
	node := &telling{drain: []*electorpb.DrainResponse{leads(7), drained()}}
	last, err := dialled(t, node).Drain(t.Context(), 0, nil)
	require.NoError(t, err)
	assert.Equal(t, 7, last.Moved)
}

// drained is the last thing that a node says.
func drained() *electorpb.DrainResponse {
	return &electorpb.DrainResponse{Progress: &electorpb.Progress{State: electorpb.NodeState_NODE_STATE_DRAINED, Moved: 7}, Ended: new(electorpb.DrainEnd)}
}

func TestAnOperatorIsToldHowFarADrainHasCome(t *testing.T) {
	var told []int
	node := &telling{drain: []*electorpb.DrainResponse{leads(7), leads(3), drained()}}
	last, err := dialled(t, node).InFlight(16).Drain(t.Context(), 5*time.Minute, func(p elector.Progress) { told = append(told, p.Led) })
	require.NoError(t, err)
	assert.EqualValues(t, 5*time.Minute, node.asked.GetWaitNanos())
	assert.EqualValues(t, 16, node.asked.GetInFlight())
	assert.Equal(t, []int{7, 3}, told)
	assert.Equal(t, 7, last.Moved)
}

// One connection may serve several users, and what one of them is careful about must not get lost, nor bind the others.
func TestClientsOfOneConnectionDoNotChangeEachOther(t *testing.T) {
	node := &telling{drain: []*electorpb.DrainResponse{drained()}}
	c := dialled(t, node)
	asks := func(c *Client, incarnation uint64, inFlight uint32) {
		t.Helper()
		_, err := c.Drain(t.Context(), 0, nil)
		require.NoError(t, err)
		assert.Equal(t, incarnation, node.asked.GetIncarnation())
		assert.Equal(t, inFlight, node.asked.GetInFlight())
	}
	asks(c.ForProcess(5).InFlight(16), 5, 16)
	asks(c.InFlight(16).ForProcess(5), 5, 16)
	asks(c, 0, 0)
}

// A node that says nothing more may still lead.
func TestADrainIsNotOverUntilTheNodeSaysSo(t *testing.T) {
	last, err := dialled(t, &telling{drain: []*electorpb.DrainResponse{leads(7)}}).Drain(t.Context(), 0, func(elector.Progress) {})
	require.ErrorContains(t, err, "the node did not say how the drain ended")
	assert.Equal(t, codes.Internal, status.Code(err))
	assert.Equal(t, 7, last.Led)
}

// Somebody has undrained it meanwhile. The operator learns that it serves, as from any other drain.
func TestADrainThatIsToBeKeptEndsWhenTheNodeServes(t *testing.T) {
	serves := &electorpb.DrainResponse{Progress: new(electorpb.Progress), Ended: new(electorpb.DrainEnd)}
	_, err := dialled(t, &telling{drain: []*electorpb.DrainResponse{serves}}).DrainAndKeep(t.Context(), 0, nil)
	require.ErrorIs(t, err, elector.ErrServing)
	assert.NotErrorIs(t, err, ErrNotKept)
}

// A node of an older version does not say that it stays drained. Nobody must rely on it, also if something is left that it leads.
func TestADrainThatIsNotKeptSaysSo(t *testing.T) {
	stuck := leads(7)
	stuck.Ended = new(electorpb.DrainEnd)
	for name, told := range map[string]*electorpb.DrainResponse{"it drains": leads(7), "it is stuck": stuck, "it has drained": drained()} {
		last, err := dialled(t, &telling{drain: []*electorpb.DrainResponse{told}}).DrainAndKeep(t.Context(), 0, nil)
		require.ErrorIs(t, err, ErrNotKept, name)
		assert.Equal(t, decodeProgress(told.GetProgress()), last, name)
	}
}

// A program may drain, read tables, and look for a group, again and again over one connection.
func TestNothingOfACallIsLeftBehind(t *testing.T) {
	for name, call := range map[string]func(c *Client) error{
		"drain": func(c *Client) error { _, err := c.Drain(t.Context(), 0, func(elector.Progress) {}); return err },
		"table": func(c *Client) error {
			for _, err := range c.Table(t.Context(), "") {
				return err
			}
			return nil
		},
		"statuses": func(c *Client) error {
			for _, err := range c.Statuses(t.Context(), "") {
				return err
			}
			return nil
		},
	} {
		node := &telling{drain: []*electorpb.DrainResponse{drained()}, left: make(chan struct{})}
		require.NoError(t, call(dialled(t, node)), name)
		select {
		case <-node.left:
		case <-time.After(20 * time.Second):
			assert.Fail(t, "it goes on", name)
		}
	}
}
