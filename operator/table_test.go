// The table of leaders: what a node sends, without and with the wire.

package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/proto/electorpb"
)

// reader is the stream of a reader of the table, who takes a message when it wants one.
type reader struct {
	grpc.ServerStream
	ctx  context.Context
	sent chan *electorpb.TableResponse
}

func (r *reader) Context() context.Context { return r.ctx }

func (r *reader) Send(answer *electorpb.TableResponse) error {
	select {
	case r.sent <- answer:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// read begins to read a node's table. The returned function gives up, and returns how the call ended.
func read(t *testing.T, s *service, prefix string) (r *reader, leave func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r = &reader{ctx: ctx, sent: make(chan *electorpb.TableResponse)}
	over := make(chan error, 1)
	go func() { over <- s.Table(&electorpb.TableRequest{Prefix: prefix}, r) }()
	return r, func() error {
		cancel()
		return <-over
	}
}

// next is what the reader gets next; nil if nothing has been sent.
func (r *reader) next() *Rows {
	synctest.Wait()
	select {
	case answer := <-r.sent:
		rows := decodeRows(answer, "asked")
		return &rows
	default:
		return nil
	}
}

// all takes everything that has been sent, and returns the newest row of each group.
func (r *reader) all() (newest map[string]Row, current bool) {
	newest = make(map[string]Row)
	for rows := r.next(); rows != nil; rows = r.next() {
		for _, row := range rows.Rows {
			newest[row.Group] = row
		}
		current = rows.Current
	}
	return newest, current
}

// want is what a node should know of a group.
func (c *crew) want(node int, group string) Row {
	now := c.nodes[node].host.Elector(group).Status()
	row := Row{Group: group, Term: now.Term, Leader: now.Leader}
	switch now.Leader {
	case "":
	case now.Self:
		row.Address = "asked"
	default:
		row.Address = "at " + now.Leader
	}
	return row
}

// First come all rows, then a word that they are all, and then rows of groups that change.
func TestATableIsARowForEachGroupAndThenItsChanges(t *testing.T) {
	withCrew(t, 3, func(c crew) {
		t := c.t
		r, leave := read(t, c.nodes[0], "")
		rows := r.next()
		require.NotNil(t, rows)
		assert.Equal(t, "n0", rows.Node)
		assert.True(t, rows.Current)
		assert.ElementsMatch(t, []Row{c.want(0, "g0"), c.want(0, "g1"), c.want(0, "g2")}, rows.Rows)
		assert.Nil(t, r.next())

		leader := int(c.want(0, "g1").Leader[1] - '0')
		require.NoError(t, c.nodes[leader].host.Elector("g1").TransferLeadership(t.Context(), ""))
		<-time.After(time.Second)
		newest, current := r.all()
		assert.Equal(t, map[string]Row{"g1": c.want(0, "g1")}, newest)
		assert.NotEqual(t, fmt.Sprint("n", leader), newest["g1"].Leader)
		assert.True(t, current)

		require.NoError(t, c.nodes[0].host.Elector("g2").Stop(t.Context()))
		newest, _ = r.all()
		assert.True(t, newest["g2"].Ended)
		assert.Empty(t, newest["g2"].Leader)
		assert.Equal(t, codes.Canceled, status.Code(leave()))
	})
}

// The rows of a reader that is slow do not pile up: there is one for each group, the latest.
func TestASlowReaderOfATableGetsTheLatestRowOfEachGroup(t *testing.T) {
	withCrew(t, 2, func(c crew) {
		t := c.t
		r, leave := read(t, c.nodes[1], "")
		synctest.Wait() // the first message waits for the reader
		for range 5 {
			for _, group := range []string{"g0", "g1"} {
				leader := int(c.want(1, group).Leader[1] - '0')
				require.NoError(t, c.nodes[leader].host.Elector(group).TransferLeadership(t.Context(), ""))
				<-time.After(time.Second)
			}
		}
		first := r.next()
		require.Len(t, first.Rows, 2)
		assert.Less(t, first.Rows[0].Term, c.want(1, first.Rows[0].Group).Term)
		second := r.next()
		require.NotNil(t, second)
		assert.ElementsMatch(t, []Row{c.want(1, "g0"), c.want(1, "g1")}, second.Rows)
		assert.Nil(t, r.next())
		assert.Error(t, leave())
	})
}

// A reader of some groups gets no word of the others, and learns that there is none of its own.
func TestATableMayBeOfSomeGroups(t *testing.T) {
	withCrew(t, 12, func(c crew) {
		t := c.t
		r, leave := read(t, c.nodes[2], "g1") // g1, g10 and g11
		newest, current := r.all()
		assert.Equal(t, map[string]Row{"g1": c.want(2, "g1"), "g10": c.want(2, "g10"), "g11": c.want(2, "g11")}, newest)
		assert.True(t, current)
		require.NoError(t, c.nodes[2].host.Elector("g2").Stop(t.Context()))
		assert.Nil(t, r.next())
		assert.Error(t, leave())
		r, leave = read(t, c.nodes[2], "x")
		assert.Equal(t, &Rows{Node: "n2", Current: true}, r.next())
		assert.Nil(t, r.next())
		assert.Error(t, leave())
	})
}

// Very many rows come in messages of a bounded size, and only the last of the first ones says that they are all.
func TestALongTableIsSentInParts(t *testing.T) {
	const groups = 2*together + 1
	node := serviceOf(t, groupsOf("g", groups)...) // whose other voter is not there
	require.NoError(t, node.host.StartAll())
	seen := make(map[string]bool)
	for rows, err := range dialled(t, node).Table(t.Context(), "") {
		require.NoError(t, err)
		assert.LessOrEqual(t, len(rows.Rows), together)
		for _, row := range rows.Rows {
			seen[row.Group] = true
			assert.Empty(t, row.Leader)
		}
		assert.Equal(t, len(seen) == groups, rows.Current)
		if rows.Current {
			break
		}
	}
	assert.Len(t, seen, groups)
	for rows, err := range dialled(t, node).Table(t.Context(), "x") {
		require.NoError(t, err)
		assert.True(t, rows.Current, "there is no message for groups that were not asked for")
		break
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, node.host.Close(stopped))
}

func TestARowSurvivesTheWire(t *testing.T) {
	s := &service{address: func(node string) string { return "at " + node }}
	wire := func(now elector.Status) Row {
		return decodeRows(&electorpb.TableResponse{Node: "n0", Rows: []*electorpb.TableRow{s.encodeRow(now)}}, "asked").Rows[0]
	}
	assert.Equal(t, Row{Group: "orders", Term: 7, Leader: "n1", Address: "at n1"}, wire(elector.Status{Group: "orders", Self: "n0", Term: 7, Leader: "n1"}))
	assert.Equal(t, Row{Group: "orders", Term: 7, Ended: true}, wire(elector.Status{Group: "orders", Self: "n0", Term: 7, Leader: "n1", Stopped: true}),
		"whoever takes part no more knows no leader")
	assert.Equal(t, Row{Group: "orders", Term: 7, Leader: "n0", Address: "asked"}, wire(elector.Status{Group: "orders", Self: "n0", Term: 7, Leader: "n0"}),
		"a node need not know its own address")
	own := &electorpb.TableRow{Group: "orders", Term: 7, Leader: "n0", Address: "at n0"}
	assert.Equal(t, "at n0", decodeRows(&electorpb.TableResponse{Node: "n0", Rows: []*electorpb.TableRow{own}}, "asked").Rows[0].Address, "if it does, that counts")
	assert.Equal(t, Row{Group: "orders", Term: 7}, wire(elector.Status{Group: "orders", Self: "n0", Term: 7}), "nobody has no address")
}

// ending is a node that ends every table at once, as a node of this version does not.
type ending struct {
	electorpb.UnimplementedOperatorServiceServer
}

func (ending) Table(*electorpb.TableRequest, grpc.ServerStreamingServer[electorpb.TableResponse]) error {
	return nil
}

// A table that ends is an error, because its reader would take old rows for the latest.
func TestATableThatEndsIsAnError(t *testing.T) {
	for text, node := range map[string]electorpb.OperatorServiceServer{
		"the node has ended its table":                                     ending{},
		"the node runs a version of hustings that does not know this call": older{},
	} {
		var problems []error
		for _, err := range dialled(t, node).Table(t.Context(), "") {
			problems = append(problems, err)
		}
		require.Len(t, problems, 1)
		assert.ErrorContains(t, problems[0], text)
	}
}

// deafReader is a stream that fails to send.
type deafReader struct{ reader }

func (*deafReader) Send(*electorpb.TableResponse) error { return assert.AnError }

func TestATableEndsWhenNothingCanBeSent(t *testing.T) {
	withCrew(t, 1, func(c crew) {
		t := c.t
		end := &deafReader{reader{ctx: t.Context()}}
		assert.ErrorIs(t, c.nodes[0].Table(new(electorpb.TableRequest), end), assert.AnError)
	})
}

// The reader's context ends a table without an error, as it ends a watch.
func TestATableEndsWithItsContext(t *testing.T) {
	node := serviceOf(t, "orders")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var problems []error
	for rows, err := range dialled(t, node).Table(ctx, "") {
		problems = append(problems, err)
		assert.True(t, rows.Current, "no group takes part")
		cancel()
	}
	assert.NoError(t, errors.Join(problems...))
	assert.Len(t, problems, 1)
}
