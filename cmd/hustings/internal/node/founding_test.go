package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/memberstate"
)

// village is three nodes in this process, each with a directory of its own.
type village struct {
	t       *testing.T
	members []node.Member
	dir     string
	nodes   map[string]*villager
}

// villager is a running node.
type villager struct {
	printed, log paper
	stop         context.CancelFunc
	ended        chan struct{}
	err          error
}

// outcome waits until the node has ended, and returns its error.
func (n *villager) outcome() error {
	select {
	case <-n.ended:
		return n.err
	case <-time.After(patience):
		return errors.New("it goes on")
	}
}

func newVillage(t *testing.T) *village {
	t.Helper()
	v := &village{t: t, dir: t.TempDir(), nodes: map[string]*villager{}}
	free, err := node.FreeAddresses(3)
	require.NoError(t, err)
	for i, address := range free {
		v.members = append(v.members, node.Member{ID: fmt.Sprintf("n%d", i), Address: address})
		require.NoError(t, os.Mkdir(v.data(fmt.Sprintf("n%d", i)), 0o700))
	}
	t.Cleanup(func() {
		for id := range v.nodes {
			assert.NoError(t, v.end(id))
		}
	})
	return v
}

func (v *village) data(id string) string { return filepath.Join(v.dir, id) }

func (v *village) start(id string, change ...func(*node.Config)) *villager {
	v.t.Helper()
	c := node.Config{Node: id, Group: "orders", Data: v.data(id), Members: v.members, NewIfMissing: true}
	for _, f := range change {
		f(&c)
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &villager{stop: stop, ended: make(chan struct{})}
	v.nodes[id] = n
	go func() {
		defer close(n.ended)
		n.err = node.Run(ctx, c, node.NewPrinter(&n.printed, false), slog.New(slog.NewTextHandler(&n.log, nil)))
	}()
	return n
}

func (v *village) end(id string) error {
	n := v.nodes[id]
	delete(v.nodes, id)
	n.stop()
	return n.outcome()
}

// takesPart waits until a node follows or leads.
func (v *village) takesPart(id string) {
	v.t.Helper()
	v.says(&v.nodes[id].printed, "follows", "leads term")
}

func (v *village) says(p *paper, oneOf ...string) {
	v.t.Helper()
	require.Eventually(v.t, func() bool {
		for _, s := range oneOf {
			if strings.Contains(p.String(), s) {
				return true
			}
		}
		return false
	}, patience, 1e6)
}

// Nodes that are all new make their stores after asking each other. A node that comes back
// without its store is refused, even if its peers have restarted meanwhile.
//
// This test is not parallel to others: a program that one of them starts has copies of this process's files for a moment,
// and so the lock of a store, which a node that starts again needs.
func TestANodeThatLostItsStoreIsNotNew(t *testing.T) {
	v := newVillage(t)
	for _, m := range v.members {
		v.start(m.ID)
	}
	for _, m := range v.members {
		v.takesPart(m.ID)
	}
	require.Eventually(t, func() bool {
		n0, _ := os.ReadFile(filepath.Join(v.data("n0"), "n0.peers"))
		n1, _ := os.ReadFile(filepath.Join(v.data("n1"), "n1.peers"))
		return strings.Contains(string(n0)+string(n1), "n2")
	}, patience, 1e6)
	for _, m := range v.members {
		require.NoError(t, v.end(m.ID))
	}
	require.NoError(t, os.RemoveAll(v.data("n2")))
	lost := v.start("n2")
	assert.ErrorContains(t, lost.outcome(), "the disk mounted?", "a missing directory is not made")
	require.NoError(t, os.Mkdir(v.data("n2"), 0o700))
	v.start("n0") // at least one of them has heard n2 before
	v.start("n1")
	lost = v.start("n2")
	err := lost.outcome()
	delete(v.nodes, "n2")
	require.ErrorContains(t, err, "messages from n2 in group orders have reached n")
	assert.ErrorContains(t, err, "it must come back under another id")
	assert.NoFileExists(t, node.StorePath(v.data("n2"), "n2"))
	assert.Contains(t, v.nodes["n0"].log.String()+v.nodes["n1"].log.String(), "a peer that has no store asks whether it is new, and is told no")
	lost = v.start("n2", func(c *node.Config) { c.New, c.NewIfMissing = true, false })
	err = lost.outcome()
	delete(v.nodes, "n2")
	require.ErrorContains(t, err, "messages from n2 in group orders have reached n", "an operator may be wrong")
	assert.NoFileExists(t, node.StorePath(v.data("n2"), "n2"))
}

// What is left beside a store that was removed by mistake shows that the node has run, and that no peer need be asked.
func TestANodeWhoseFilesShowThatItHasRunIsNotNew(t *testing.T) {
	for left, says := range map[string]string{
		"n0.store.old": "n0.store.old. It may be older than the store was.",
		"n0.peers":     "it has heard n1 and n2, says ",
	} {
		for how, found := range map[string]func(t *testing.T, data string) error{
			"store create": func(_ *testing.T, data string) error { _, err := node.CreateStore(data, "n0"); return err },
			"--new":        foundedBy(func(c *node.Config) { c.New, c.NewIfMissing = true, false }),
			"if-missing":   foundedBy(func(*node.Config) {}),
			"neither":      foundedBy(func(c *node.Config) { c.NewIfMissing = false }),
		} {
			t.Run(left+", "+how, func(t *testing.T) {
				data := t.TempDir()
				require.NoError(t, os.WriteFile(filepath.Join(data, left), []byte(`{"orders": ["n2", "n1"], "users": []}`), 0o600))
				err := found(t, data)
				require.ErrorIs(t, err, memberstate.ErrStoreLost)
				assert.ErrorContains(t, err, says)
				assert.NoFileExists(t, node.StorePath(data, "n0"))
			})
		}
	}
}

// foundedBy starts a node with a change of its configuration, and returns why it has ended.
func foundedBy(change func(*node.Config)) func(t *testing.T, data string) error {
	return func(t *testing.T, data string) error {
		t.Helper()
		v := newVillage(t)
		n := v.start("n0", change, func(c *node.Config) { c.Data = data })
		delete(v.nodes, "n0")
		return n.outcome()
	}
}

// Peers of another group say nothing about this one.
func TestANodeThatHasHeardPeersInAnotherGroupMayBeNew(t *testing.T) {
	v := newVillage(t)
	require.NoError(t, os.WriteFile(filepath.Join(v.data("n0"), "n0.peers"), []byte(`{"users": ["n1"]}`), 0o600))
	v.start("n0", func(c *node.Config) { c.New, c.NewIfMissing = true, false })
	v.start("n1", func(c *node.Config) { c.New, c.NewIfMissing = true, false })
	v.takesPart("n0")
}

// A node that starts late is new if no peer has ever heard from it, and all peers have to
// say so.
//
// It is not parallel to other tests, see TestANodeThatLostItsStoreIsNotNew.
func TestANodeThatComesLateIsNew(t *testing.T) {
	v := newVillage(t)
	founder := func(c *node.Config) { c.New, c.NewIfMissing = true, false }
	v.start("n0", founder)
	late := v.start("n2")
	v.says(&late.log, "waiting for all voters")
	assert.NoFileExists(t, node.StorePath(v.data("n2"), "n2"), "n1 has not answered yet")
	v.start("n1", founder)
	v.takesPart("n2")
	require.NoError(t, v.end("n2"))
	v.start("n2") // has a store now
	v.takesPart("n2")
}

// A node without a record of peers, because an earlier version made its store, may have
// heard any peer.
func TestWithoutARecordOfPeersAnyPeerMayBeKnown(t *testing.T) {
	v := newVillage(t)
	s, err := memberstate.CreateFile(node.StorePath(v.data("n0"), "n0"), "n0")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	v.start("n0")
	late := v.start("n2")
	assert.ErrorContains(t, late.outcome(), "messages from n2 in group orders have reached n0, or may have:")
	delete(v.nodes, "n2")
}

func TestAStoreIsCreatedOnce(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a", "b")
	path, err := node.CreateStore(data, "n0")
	require.NoError(t, err)
	assert.Equal(t, node.StorePath(data, "n0"), path)
	assert.FileExists(t, filepath.Join(data, "n0.peers"), "peers are recorded from the start")
	s, err := memberstate.OpenFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = node.CreateStore(data, "n0")
	assert.ErrorIs(t, err, memberstate.ErrStoreExists)
	for _, id := range []string{"", ".", "..", ".n0", "../esc", "a/b", "a\nb"} {
		_, err = node.CreateStore(data, id)
		assert.ErrorAs(t, err, new(node.ConfigError), id)
	}
}

// A node that goes on without a store, or with one beside which no peers are recorded, could be founded a second time
// and vote again. So nothing but both together counts as founded.
func TestAStoreThatCannotBeCreatedIsAnError(t *testing.T) {
	for what, stand := range map[string]func(t *testing.T, dir string) (data, says string){
		"the directory cannot be made": func(t *testing.T, dir string) (data, says string) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
			return filepath.Join(dir, "file", "data"), "not a directory"
		},
		"the directory is a link to nowhere, as when a disk is not mounted": func(t *testing.T, dir string) (data, says string) {
			t.Helper()
			data = filepath.Join(dir, "link")
			if err := os.Symlink(filepath.Join(dir, "disk", "data"), data); err != nil {
				t.Skip("this process may not make a link:", err)
			}
			return data, "mkdir " + data
		},
		"peers cannot be recorded": func(t *testing.T, dir string) (data, says string) {
			t.Helper()
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "n0.peers.new", "taken"), 0o700))
			return dir, "n0.peers.new"
		},
		"peers that an earlier life has heard cannot be read": func(t *testing.T, dir string) (data, says string) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "n0.peers"), []byte("{"), 0o600))
			return dir, "cannot read the peers"
		},
		"the store cannot be made": func(t *testing.T, dir string) (data, says string) {
			t.Helper()
			require.NoError(t, os.MkdirAll(node.StorePath(dir, "n0"), 0o700))
			return dir, filepath.Base(node.StorePath(dir, "n0"))
		},
	} {
		t.Run(what, func(t *testing.T) {
			data, says := stand(t, t.TempDir())
			before, _ := os.Stat(node.StorePath(data, "n0")) // there may be none
			path, err := node.CreateStore(data, "n0")
			require.ErrorContains(t, err, says)
			assert.Empty(t, path)
			after, _ := os.Stat(node.StorePath(data, "n0"))
			assert.Equal(t, before, after, "no store is left behind")
		})
		t.Run(what+" when the node starts", func(t *testing.T) {
			v := newVillage(t)
			data, says := stand(t, t.TempDir())
			n := v.start("n0", func(c *node.Config) { c.Data, c.New, c.NewIfMissing = data, true, false })
			delete(v.nodes, "n0")
			assert.ErrorContains(t, n.outcome(), says)
		})
	}
}

// A voter that has said once that it does not know the node need not say so again, and may be
// gone when the last one has.
func TestAVoterIsAskedUntilItHasAnswered(t *testing.T) {
	t.Parallel()
	v := newVillage(t)
	founder := func(c *node.Config) { c.New, c.NewIfMissing = true, false }
	v.start("n0", founder)
	late := v.start("n2")
	v.says(&late.log, "voters=n1 ")
	require.NoError(t, v.end("n0"))
	v.start("n1", founder)
	v.takesPart("n2")
}

// What a node prints tells its process from the one before, which had the same name.
func TestEventsNameTheProcess(t *testing.T) {
	free, err := node.FreeAddresses(1)
	require.NoError(t, err)
	c := node.Config{Node: "n0", Group: "orders", Data: t.TempDir(), Members: []node.Member{{ID: "n0", Address: free[0]}}, New: true}
	var processes []string
	for range 2 {
		var printed paper
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- node.Run(ctx, c, node.NewPrinter(&printed, true), slog.New(slog.DiscardHandler))
		}()
		require.Eventually(t, func() bool { return strings.Contains(printed.String(), `"event":"lead"`) }, patience, 1e6)
		stop()
		require.NoError(t, <-ended)
		own := map[string]bool{}
		for line := range strings.Lines(printed.String()) {
			var e node.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			assert.Equal(t, "n0", e.Node, line)
			assert.Equal(t, "orders", e.Group, line)
			own[e.Process] = true
		}
		require.Len(t, own, 1, "it is one process")
		processes = slices.AppendSeq(processes, maps.Keys(own))
		c.New = false
	}
	assert.Greater(t, len(processes[0]), 10)
	assert.NotEqual(t, processes[0], processes[1])
}
