// The parts of a node that votes are connected: its program ends before its leadership does, and
// what the configuration says reaches the election and the transport.

package node_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
)

// team is nodes in this process that run a program, which notes its beginnings and its ends.
type team struct {
	members []node.Member
	notes   string
	printed *paper // by all
	stop    context.CancelFunc
	ended   chan error
}

func newTeam(t *testing.T, size int, change func(*node.Config)) *team {
	t.Helper()
	free, err := node.FreeAddresses(size)
	require.NoError(t, err)
	dir := t.TempDir()
	g := &team{notes: filepath.Join(dir, "notes"), printed: new(paper), ended: make(chan error, size)}
	for i, address := range free {
		g.members = append(g.members, node.Member{ID: fmt.Sprint("n", i), Address: address})
	}
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	for _, m := range g.members {
		// With this timing even a busy machine has the time that an orderly end of a program takes.
		c := node.Config{Node: m.ID, Group: "orders", Data: dir, Members: g.members, New: true, Leases: true, Timing: "dledger", Exec: fmt.Sprintf(
			`trap 'echo "$HUSTINGS_NODE ends $HUSTINGS_TERM" >> %[1]s; exit' TERM
echo "$HUSTINGS_NODE begins $HUSTINGS_TERM" >> %[1]s; while :; do sleep 0.01; done`, g.notes)}
		change(&c)
		go func() { g.ended <- node.Run(ctx, c, node.NewPrinter(g.printed, true), slog.New(slog.DiscardHandler)) }()
	}
	t.Cleanup(func() { g.end(t) })
	return g
}

// end ends all nodes.
func (g *team) end(t *testing.T) {
	t.Helper()
	g.stop()
	for range g.members {
		assert.NoError(t, <-g.ended)
	}
	g.members = nil
}

// noted returns the lines of the programs.
func (g *team) noted() []string {
	text, _ := os.ReadFile(g.notes)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// endsNext checks that the program that began last was the next one to end.
func (g *team) endsNext(t *testing.T, before []string) {
	t.Helper()
	last := before[len(before)-1]
	require.Greater(t, len(g.noted()), len(before))
	assert.Equal(t, strings.Replace(last, "begins", "ends", 1), g.noted()[len(before)])
}

// begins waits until the program of a node has begun, and returns the node.
func (g *team) begins(t *testing.T, nth int) (in string, client *operator.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Count(strings.Join(g.noted(), "\n"), "begins") >= nth }, patience, time.Millisecond)
	for _, line := range g.noted() {
		if strings.Contains(line, "begins") {
			in, _, _ = strings.Cut(line, " ")
		}
	}
	for _, m := range g.members {
		if m.ID == in {
			var err error
			client, err = operator.Dial(m.Address, nil)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, client.Close()) })
		}
	}
	return in, client
}

// A node that is stopped, or told to resign, asks its program to end, and waits for it.
func TestTheProgramOfANodeIsAskedToEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, g *team, client *operator.Client){
		"resigned": func(t *testing.T, _ *team, client *operator.Client) {
			t.Helper()
			require.NoError(t, client.Resign(t.Context(), "orders"))
		},
		"stopped": func(t *testing.T, g *team, _ *operator.Client) { t.Helper(); g.end(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newTeam(t, 1, func(*node.Config) {})
			_, client := g.begins(t, 1)
			require.Eventually(t, func() bool { return strings.Contains(g.printed.String(), `"event":"lease"`) }, patience, time.Millisecond)
			before := g.noted()
			end(t, g, client)
			g.endsNext(t, before)
		})
	}
}

// Before a handover the program is asked to end, and the next one begins when it has. The event
// says that the lease is void before it has run out.
func TestAHandoverEndsTheProgramFirst(t *testing.T) {
	effort.Long(t)
	t.Parallel()
	g := newTeam(t, 3, func(c *node.Config) { c.Preferred = []string{"n0"} })
	var undone *operator.Undoing
	for nth := 1; undone == nil; nth++ { // another node may win a term, or the machine be too busy for a handover in time
		from, client := g.begins(t, nth)
		if from != "n0" {
			continue
		}
		before := g.noted()
		var err error
		if undone, err = client.Transfer(t.Context(), "orders", "n1"); err != nil {
			t.Log(err)
			continue
		}
		g.endsNext(t, before)
		require.Eventually(t, func() bool { return len(g.noted()) > len(before)+1 }, patience, time.Millisecond)
		assert.Contains(t, g.noted()[len(before)+1], " begins ", "not before the other one has ended")
	}
	assert.Equal(t, []string{"n0"}, undone.Preferred)
	assert.Contains(t, g.printed.String(), `"event":"handover","node":"n0"`)
}

// What the configuration asks for is refused if it cannot be had, and not left out.
func TestANodeDoesNotIgnoreItsConfiguration(t *testing.T) {
	const unfounded = "Use --new if this node has"
	for says, change := range map[string]func(*node.Config){
		"Give --tls, or --trust": func(c *node.Config) { c.Listen = strings.Replace(c.Members[0].Address, "127.0.0.1", "0.0.0.0", 1) },
		"no/such/ca.pem":         func(c *node.Config) { c.TLS = &node.Files{CA: "no/such/ca.pem", Cert: "cert", Key: "key"} },
		unfounded:                func(*node.Config) {},
		"--preferred ":           func(c *node.Config) { c.Preferred = []string{"n9"} },
		"address already in use": func(c *node.Config) { c.HTTP = c.Members[0].Address },
	} {
		free, err := node.FreeAddresses(1)
		require.NoError(t, err)
		c := node.Config{Node: "n0", Group: "orders", Data: t.TempDir(), Members: []node.Member{{ID: "n0", Address: free[0]}}}
		change(&c)
		founded := says != unfounded
		if founded {
			_, err := node.CreateStore(c.Data, "n0")
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err = node.Run(ctx, c, node.NewPrinter(io.Discard, true), slog.New(slog.DiscardHandler))
		cancel()
		require.ErrorContains(t, err, says)
		l, err := net.Listen("tcp", free[0])
		require.NoError(t, err, "it is closed")
		require.NoError(t, l.Close())
		if founded {
			s, err := memberstate.OpenFile(node.StorePath(c.Data, "n0"), "n0")
			require.NoError(t, err, "so is its store")
			require.NoError(t, s.Close())
		}
	}
}

// A node that waits for the other voters before it makes its store can be stopped.
func TestANodeThatIsNotFoundedYetCanBeStopped(t *testing.T) {
	v := newVillage(t)
	late := v.start("n0")
	v.says(&late.log, "waiting for all voters")
	require.NoError(t, v.end("n0"))
}

// The peers of a store that has none noted may all have been heard. A store that is not made
// anew does not forget that.
func TestARefusedStoreForgetsNobody(t *testing.T) {
	data := t.TempDir()
	s, err := memberstate.CreateFile(node.StorePath(data, "n0"), "n0")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = node.CreateStore(data, "n0")
	require.ErrorIs(t, err, memberstate.ErrStoreExists)
	assert.NoFileExists(t, filepath.Join(data, "n0.peers"))
}
