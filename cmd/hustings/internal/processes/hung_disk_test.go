//go:build linux

// Nodes whose disk hangs: a file system of this process (FUSE), whose fsync does not return until the test lets
// it. It needs /dev/fuse and the right to mount.

package processes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/internal/effort"
)

// disk is a node's disk, which may hang.
type disk struct {
	mu     sync.Mutex
	hung   chan struct{} // closed when it is released; nil: it works
	synced int           // how often something was made durable
	waits  int           // how many wait for that
}

// newDisk mounts a disk at a directory.
func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	d := new(disk)
	root, err := fs.NewLoopbackRoot(t.TempDir())
	require.NoError(t, err)
	server, err := fs.Mount(dir, &onDisk{root.(*fs.LoopbackNode), d}, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, DirectMount: true}})
	if err != nil {
		t.Skipf("cannot make a disk that hangs: %v: it needs /dev/fuse and the right to mount", err)
	}
	t.Cleanup(func() { assert.NoError(t, server.Unmount()) })
	return d
}

// hang has nothing made durable any more.
func (d *disk) hang() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hung = make(chan struct{})
}

func (d *disk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hung != nil {
		close(d.hung)
		d.hung = nil
	}
}

func (d *disk) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits
}

func (d *disk) syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced
}

// onDisk is a file or a directory on a disk.
type onDisk struct {
	*fs.LoopbackNode
	disk *disk
}

var (
	_ fs.NodeWrapChilder = (*onDisk)(nil)
	_ fs.NodeFsyncer     = (*onDisk)(nil)
)

// WrapChild has all files and directories hang with the disk.
func (n *onDisk) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &onDisk{child.(*fs.LoopbackNode), n.disk}
}

// Fsync does not return while the disk hangs, not even to a process that is killed.
func (n *onDisk) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	n.disk.mu.Lock()
	hung := n.disk.hung
	n.disk.waits++
	n.disk.mu.Unlock()
	if hung != nil {
		<-hung
	}
	n.disk.mu.Lock()
	n.disk.synced++
	n.disk.waits--
	n.disk.mu.Unlock()
	if file, is := f.(fs.FileFsyncer); is {
		return file.Fsync(ctx, flags)
	}
	return fs.OK
}

// hangers are nodes that keep their stores on disks that may hang, and whose program can work only if
// something can be made durable there.
type hangers struct {
	*cluster
	disks map[string]*disk
	pids  string
}

func newHangers(t *testing.T) *hangers {
	t.Helper()
	h := &hangers{disks: map[string]*disk{}, pids: filepath.Join(t.TempDir(), "pids")}
	mounts, data := t.TempDir(), map[string]string{}
	for _, id := range []string{"n0", "n1", "n2"} {
		data[id] = filepath.Join(mounts, id)
		h.disks[id] = newDisk(t, data[id])
	}
	// Each run of the command has a file of its own, because it would have to wait for another one that syncs the same.
	h.cluster = newCluster(t, clusterOptions{size: 3, data: data, flags: []string{
		"--exec", `echo "$HUSTINGS_TERM $HUSTINGS_NODE $HUSTINGS_GROUP $$" >> ` + h.pids + `; exec sleep 1000`,
		"--alive", "dd if=/dev/zero of=" + mounts + "/$HUSTINGS_NODE/alive-$$ bs=1 count=1 conv=fsync status=none", "--vouch", "2s",
	}})
	t.Cleanup(func() { // before the nodes are told to end, because they could not
		for _, d := range h.disks {
			d.release()
		}
	})
	return h
}

// works waits until the program of a term runs, or of a later one, and something has vouched for it. It returns
// the node that leads.
func (h *hangers) works(led node.Event) node.Event {
	h.t.Helper()
	p := started(h.t, h.pids, "demo", led.Term)
	led.Node, led.Term = p.node, p.term
	h.vouches(led.Node, 2) // the first one may be of a command that was started before the program
	return led
}

// vouches waits until the command has written to a node's disk that often, which works.
func (h *hangers) vouches(id string, times int) {
	h.t.Helper()
	before := h.disks[id].syncs()
	require.Eventually(h.t, func() bool { return h.disks[id].syncs() >= before+times }, patience, time.Millisecond)
}

// notAble waits until a node is not able to lead.
func (h *hangers) notAble(id string, since int64) node.Event {
	h.t.Helper()
	return h.await(id+" is not able", func(e node.Event) bool {
		return e.Event == "role" && e.Node == id && e.AtNanos > since && e.Inability == "unhealthy"
	})
}

func (h *hangers) ableAgain(id string, since int64) {
	h.t.Helper()
	h.await(id+" is able", func(e node.Event) bool {
		return e.Event == "role" && e.Node == id && e.AtNanos > since && e.Leader != "" && e.Leader != id && e.Inability == ""
	})
}

// otherThan waits for a leader that is another node.
func (h *hangers) otherThan(led node.Event) node.Event {
	h.t.Helper()
	return h.await("a node other than "+led.Node+" leads", func(e node.Event) bool {
		return e.Event == "lead" && e.Node != led.Node && e.Term > led.Term
	})
}

// A node whose disk hangs does not lead while another can. It follows once the disk works again.
func TestALeaderWhoseDiskHangsIsReplaced(t *testing.T) {
	effort.Long(t)
	t.Parallel()
	h := newHangers(t)
	led := h.leaderAfter(0)
	for round := range 2 { // a node whose disk has hung may lead again later
		h.followed(led.Term)
		led = h.works(led)
		at := now()
		h.disks[led.Node].hang()
		noticed := h.notAble(led.Node, at)
		next := h.otherThan(led)
		t.Logf("after the disk of %s hangs: not able after %v, %s leads after %v", led.Node,
			time.Duration(noticed.AtNanos-at), next.Node, time.Duration(next.AtNanos-at))
		assert.Equal(t, "leader", noticed.Role)
		if round == 0 {
			h.vouches(next.Node, 16) // in which time a command that hangs has been killed several times
			assert.LessOrEqual(t, h.disks[led.Node].waiting(), 2, "only the node and one command wait for the disk")
		}
		released := now()
		h.disks[led.Node].release()
		h.ableAgain(led.Node, released)
		assert.Regexp(t, `"last_leader":"`+led.Node+`","departure":"(handed over|not able)"`, h.operate("status", led.Node))
		led = next
	}
}

// If all disks hang, the leader stays, and people see why it should not. It hands over as soon as others can
// work.
func TestTheLeaderStaysWhileAllDisksHang(t *testing.T) {
	effort.Long(t)
	t.Parallel()
	h := newHangers(t)
	led := h.leaderAfter(0)
	h.followed(led.Term)
	led = h.works(led)
	at := now()
	for id, d := range h.disks {
		if id != led.Node {
			d.hang()
			h.notAble(id, at)
		}
	}
	h.disks[led.Node].hang()
	h.notAble(led.Node, at)
	var table string
	require.Eventually(t, func() bool {
		var err error
		table, err = h.run("status", "--address", h.listen[led.Node], "--tls", h.dir, "--as", "alice")
		return err == nil && strings.Contains(table, "leader (not able: unhealthy, ")
	}, patience, 10*time.Millisecond)
	t.Logf("\n%s", table)
	assert.Equal(t, 2, strings.Count(table, "follower (not able: unhealthy, "))
	released := now()
	for id, d := range h.disks {
		if id != led.Node {
			d.release()
		}
	}
	next := h.otherThan(led)
	t.Logf("%s leads %v after its disk works again", next.Node, time.Duration(next.AtNanos-released))
	released = now()
	h.disks[led.Node].release()
	h.ableAgain(led.Node, released)
	assert.Contains(t, h.complaints(led.Node), fmt.Sprintf("the command of --alive has not ended within %v", 2*time.Second))
}
