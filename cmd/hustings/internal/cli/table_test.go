package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/proto/electorpb"
)

// Any node has the same table, and its own address is the one that it was asked at.
func TestTheTableShowsWhoLeads(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	for _, address := range addresses {
		var row shownRow
		lines := succeed(t, "table", "-a", address, "--json")
		require.Len(t, lines, 1)
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &row))
		assert.Equal(t, "orders", row.Group)
		assert.Equal(t, addresses[row.Leader[1]-'0'], row.Address)
		assert.Positive(t, row.Term)
		assert.Empty(t, row.Time)
		lines = succeed(t, "table", "-a", address)
		require.Len(t, lines, 2)
		assert.Regexp(t, `^GROUP +TERM +LEADER +ADDRESS$`, lines[0])
		assert.Regexp(t, fmt.Sprintf(`^orders +%d +%s +%s$`, row.Term, row.Leader, row.Address), lines[1])
	}
	assert.Equal(t, []string{"GROUP  TERM  LEADER  ADDRESS"}, succeed(t, "table", "-a", addresses[0], "--prefix", "x"))
}

// lines passes each write on.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// With --watch a change is a line. An interrupt is the usual end.
func TestTheTableIsWatched(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	ctx, interrupt := context.WithCancel(t.Context())
	out, ended := make(lines, 100), make(chan error, 1)
	cmd := newTable()
	cmd.SetArgs([]string{"-a", addresses[1], "--watch", "--json"})
	cmd.SetOut(out)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	next := func() (row shownRow) {
		require.NoError(t, json.Unmarshal([]byte(<-out), &row))
		return row
	}
	first := next()
	assert.Empty(t, first.Time)
	succeed(t, "transfer", "-a", addresses[0])
	now := next()
	for now.Leader == "" {
		now = next()
	}
	assert.Greater(t, now.Term, first.Term)
	assert.NotEqual(t, first.Leader, now.Leader)
	assert.Equal(t, addresses[now.Leader[1]-'0'], now.Address)
	assert.NotEmpty(t, now.Time)
	interrupt()
	assert.NoError(t, <-ended)
}

func TestATableThatCannotBeHadIsAnError(t *testing.T) {
	t.Parallel()
	assert.Contains(t, fail(t, exitUsage, "table", "-a", "n0:7000", "-a", "n1:7000"), "--address names 2 nodes, want one")
	assert.Contains(t, fail(t, exitUsage, "table", "--group", "orders"), "unknown flag: --group")
	assert.Contains(t, fail(t, exitUsage, "table", "--ca", "x"), "TLS needs --tls")
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	assert.Contains(t, fail(t, exitFailed, "table", "-a", gone[0]), gone[0]+": dial tcp")
	silent := hanging(t)
	assert.Contains(t, fail(t, exitFailed, "table", "-a", silent, "--timeout", "10ms"), silent+": no answer in time")
	ctx, interrupt := context.WithCancel(t.Context())
	cmd := newTable()
	cmd.SetArgs([]string{"-a", silent})
	cmd.SetErr(new(page))
	time.AfterFunc(10*time.Millisecond, interrupt)
	err = cmd.ExecuteContext(ctx)
	require.ErrorAs(t, err, new(unfinishedError))
	assert.EqualError(t, err, "interrupted before all rows had come")
}

// The rows of all messages are one table, sorted by name. Later ones are changes.
func TestATableIsPrintedOnceItIsComplete(t *testing.T) {
	rows := []operator.Rows{
		{Rows: []operator.Row{{Group: "stock", Term: 7, Leader: "n1", Address: "n1:7000"}, {Group: "gone", Term: 1}, {Group: "orders", Term: 2}}},
		{Rows: []operator.Row{{Group: "gone", Term: 1, Ended: true}, {Group: "orders", Term: 3, Leader: "n2"}, {Group: "audit", Term: 1}}, Current: true},
		{Rows: []operator.Row{{Group: "stock", Term: 8}, {Group: "audit", Term: 2, Leader: "n0", Address: "n0:7000"}, {Group: "orders", Term: 3, Ended: true}}, Current: true},
	}
	printed := func(asJSON bool) string {
		var out strings.Builder
		p := tablePrinter{tableFlags: &tableFlags{operation: operation{asJSON: asJSON}}, out: &out, first: map[string]operator.Row{}}
		for i := range rows {
			assert.Equal(t, i < 2, out.Len() == 0)
			require.NoError(t, p.take(&rows[i]))
		}
		return out.String()
	}
	const table = `GROUP   TERM  LEADER  ADDRESS
audit   1     -       -
orders  3     n2      -
stock   7     n1      n1:7000
`
	text, found := strings.CutPrefix(printed(false), table)
	assert.True(t, found)
	changes := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, changes, 3)
	assert.Regexp(t, `^\S+  stock +term 8 +no leader$`, changes[0])
	assert.Regexp(t, `^\S+  audit +term 2 +leader n0 n0:7000$`, changes[1])
	assert.Regexp(t, `^\S+  orders +term 3 +ended at this node$`, changes[2])
	objects := strings.Split(strings.TrimSuffix(printed(true), "\n"), "\n")
	require.Len(t, objects, 6)
	assert.JSONEq(t, `{"group":"audit","term":1}`, objects[0])
	assert.JSONEq(t, `{"group":"orders","term":3,"leader":"n2"}`, objects[1])
	assert.JSONEq(t, `{"group":"stock","term":7,"leader":"n1","address":"n1:7000"}`, objects[2])
	assert.Regexp(t, `^{"time":"[^"]+","group":"stock","term":8}$`, objects[3])
	assert.Regexp(t, `,"group":"orders","term":3,"ended":true}$`, objects[5])
}

// What cannot be printed is an error, whatever it is.
func TestATableThatCannotBePrintedIsAnError(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		for _, complete := range []bool{false, true} {
			p := tablePrinter{tableFlags: &tableFlags{operation: operation{asJSON: asJSON}}, out: fullDisk{}, first: map[string]operator.Row{}, complete: complete}
			assert.ErrorIs(t, p.take(&operator.Rows{Rows: []operator.Row{{Group: "orders"}}, Current: true}), assert.AnError)
		}
	}
}

// slowTable is a node whose table has many parts, and then one change, which takes as long as all of them.
type slowTable struct {
	electorpb.UnimplementedOperatorServiceServer
	every time.Duration
	parts int
}

func (s *slowTable) Table(_ *electorpb.TableRequest, stream grpc.ServerStreamingServer[electorpb.TableResponse]) error {
	for i := range s.parts + 1 {
		<-time.After(s.every)
		if i == s.parts {
			<-time.After(s.every * time.Duration(s.parts))
		}
		row := &electorpb.TableRow{Group: fmt.Sprint("g", i), Term: 1}
		if err := stream.Send(&electorpb.TableResponse{Rows: []*electorpb.TableRow{row}, Current: i >= s.parts-1}); err != nil {
			return err
		}
	}
	return nil
}

// The time to wait is for each part of the table. A change may take any time.
func TestATableMayTakeLong(t *testing.T) {
	t.Parallel()
	const parts = 24
	address := serving(t, &slowTable{every: 50 * time.Millisecond, parts: parts}) // a busy machine may be late by nearly a second
	assert.Len(t, succeed(t, "table", "-a", address, "--timeout", "1s", "--json"), parts)
	code, stdout, stderr := run("table", "-a", address, "--timeout", "1s", "--json", "--watch")
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, parts+1, strings.Count(stdout, "\n"))
	assert.Equal(t, "hustings: "+address+": the node has ended its table\n", stderr)
}
