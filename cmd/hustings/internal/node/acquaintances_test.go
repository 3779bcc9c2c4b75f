package node

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// heard counts the messages that get through to a node.
type heard struct {
	rpc.Handler
	count int
}

func (h *heard) Receive(batch []rpc.Message) { h.count += len(batch) }

// full is a disk on which no file can be made while it is full.
type full struct {
	memberstate.Disk
	full bool
}

func (d *full) Create(name string) (memberstate.File, error) {
	if d.full {
		return nil, errors.New("no space left")
	}
	return d.Disk.Create(name)
}

// No message of a peer is taken in before the record that it was heard is durable.
func TestAPeerIsRecordedBeforeItsMessagesAreTakenIn(t *testing.T) {
	var log strings.Builder
	disk := &full{Disk: new(crashdisk.Disk)}
	config := Config{Node: "n0", Group: "orders"}
	open := func(hasStore bool) *acquaintances {
		met, err := acquaintancesOf(disk, config, hasStore, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		return met
	}
	met := open(false)
	require.NoError(t, met.begin())
	got := new(heard)
	handler := introduced{got, met}
	disk.full = true
	handler.Receive([]rpc.Message{{From: "n1", Group: "orders"}})
	handler.Receive([]rpc.Message{{From: "n1", Group: "orders"}})
	assert.Zero(t, got.count)
	assert.False(t, met.know("n1", "orders"))
	assert.Equal(t, 1, strings.Count(log.String(), "no space left"), "it is not logged for every message")

	disk.full = false
	met = open(true)
	handler = introduced{got, met}
	handler.Receive([]rpc.Message{{From: "n1", Group: "orders"}, {From: "n1", Group: "orders"}})
	assert.Equal(t, 2, got.count)
	met = open(true)
	assert.True(t, met.know("n1", "orders"))
	assert.False(t, met.know("n2", "orders"))
	assert.False(t, met.know("n1", "users"))
	introduced{got, met}.Receive([]rpc.Message{{From: "n2", Group: "users"}})
	assert.False(t, met.know("n2", "users"), "this node has no such group")
}

// Beats need no record, because they count only after messages.
func TestBeatsReachTheHandler(t *testing.T) {
	got := new(beaten)
	handler := introduced{got, nil}
	handler.ReceiveBeat(&rpc.Beat{From: "n1"})
	assert.Equal(t, []string{"n1"}, got.by)
	introduced{new(heard), nil}.ReceiveBeat(&rpc.Beat{From: "n1"}) // it takes none
}

// beaten is a handler that takes beats.
type beaten struct {
	rpc.Handler
	by []string
}

func (h *beaten) ReceiveBeat(b *rpc.Beat) { h.by = append(h.by, b.From) }

// counting is a disk that counts the files that are open.
type counting struct {
	memberstate.Disk
	open int
}

func (d *counting) Open(name string) (memberstate.File, error) {
	f, err := d.Disk.Open(name)
	if err == nil {
		d.open++
		f = openFile{f, d}
	}
	return f, err
}

type openFile struct {
	memberstate.File
	of *counting
}

func (f openFile) Close() error {
	f.of.open--
	return f.File.Close()
}

func TestTheRecordOfPeersIsClosedWhenItHasBeenRead(t *testing.T) {
	disk, config := &counting{Disk: new(crashdisk.Disk)}, Config{Node: "n0", Group: "orders"}
	met, err := acquaintancesOf(disk, config, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, met.begin())
	met, err = acquaintancesOf(disk, config, true, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.False(t, met.everyone)
	assert.Zero(t, disk.open)
}

// Voters may ask whether this node knows them while it hears a peer for the first time.
func TestPeersAreAskedForWhileOneIsHeard(t *testing.T) {
	met, err := acquaintancesOf(new(crashdisk.Disk), Config{Node: "n0", Group: "orders"}, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, met.begin())
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for !met.know("n9", "orders") {
				runtime.Gosched()
			}
		})
	}
	for peer := range 10 {
		assert.True(t, met.note(fmt.Sprint("n", peer), "orders"))
	}
	asking.Wait()
}

// durably is a handler that checks, while it is called, what a crash would leave.
type durably struct {
	rpc.Handler
	t    *testing.T
	disk *crashdisk.Disk
}

func (d durably) Receive(batch []rpc.Message) {
	random, states := rand.New(rand.NewPCG(1, 1)), 0
	for after := range d.disk.States(random, 1) {
		met, err := acquaintancesOf(after, Config{Node: "n0", Group: "orders"}, true, slog.New(slog.DiscardHandler))
		require.NoError(d.t, err)
		for i := range batch {
			assert.True(d.t, met.know(batch[i].From, "orders"), "it is noted that %s was heard", batch[i].From)
		}
		assert.False(d.t, met.everyone, "the record is there")
		states++
	}
	assert.Positive(d.t, states)
}

// No crash loses a peer that a node has heard, neither the first one nor a later one.
func TestTheRecordOfPeersSurvivesACrash(t *testing.T) {
	disk := new(crashdisk.Disk)
	met, err := acquaintancesOf(disk, Config{Node: "n0", Group: "orders"}, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, met.begin())
	handler := introduced{durably{t: t, disk: disk}, met}
	handler.Receive([]rpc.Message{{From: "n1", Group: "orders"}})
	handler.Receive([]rpc.Message{{From: "n1", Group: "orders"}, {From: "n2", Group: "orders"}})
}

// failing is a disk of which one operation fails, once.
type failing struct {
	*crashdisk.Disk
	in     int    // after this many operations
	failed string // the operation that failed
}

func (d *failing) next(op string) error {
	if d.in--; d.in == 0 {
		d.failed = op
		return errors.New("the disk is broken")
	}
	return nil
}

func (d *failing) Create(name string) (memberstate.File, error) {
	f, err := d.Disk.Create(name)
	return closing{f, d}, err
}

func (d *failing) Dir(name string) (memberstate.Dir, error) {
	if err := d.next("opendir"); err != nil {
		return nil, err
	}
	return d.Disk.Dir(name)
}

// closing is a file of such a disk.
type closing struct {
	memberstate.File
	disk *failing
}

func (f closing) Close() error { return errors.Join(f.File.Close(), f.disk.next("close")) }

// Whatever fails while a peer is noted, nothing of it is heard until it is noted after all. The
// disk is not tried again for every message.
func TestAPeerThatCouldNotBeNotedIsNotHeard(t *testing.T) {
	var failed []string
	for n := 1; len(failed) == n-1; n++ {
		synctest.Test(t, func(t *testing.T) {
			disk := &failing{Disk: new(crashdisk.Disk)}
			met, err := acquaintancesOf(disk, Config{Node: "n0", Group: "orders"}, false, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			require.NoError(t, met.begin())
			disk.Before, disk.in = disk.next, n
			got := new(heard)
			handler := introduced{got, met}
			receive := func() { handler.Receive([]rpc.Message{{From: "n1", Group: "orders"}}) }
			receive()
			if disk.failed == "" {
				assert.Equal(t, 1, got.count)
				return
			}
			failed = append(failed, disk.failed)
			assert.Zero(t, got.count, disk.failed)
			assert.False(t, met.know("n1", "orders"), disk.failed)
			before := disk.in
			<-time.After(patience - 1)
			receive()
			assert.Zero(t, got.count)
			assert.Equal(t, before, disk.in, "the disk is left alone for a while")
			<-time.After(1)
			disk.Before = nil
			introduced{durably{t: t, disk: disk.Disk}, met}.Receive([]rpc.Message{{From: "n1", Group: "orders"}})
			receive()
			assert.Equal(t, 1, got.count, "after %s has failed", disk.failed)
		})
	}
	assert.Equal(t, []string{"create", "write", "sync", "close", "rename", "opendir", "syncdir"}, failed)
}

// A node whose store is older than its record of peers may have heard any of them. It writes no record, which would name only those
// that it has heard since.
func TestANodeThatMayHaveHeardEveryoneStaysSo(t *testing.T) {
	disk := new(crashdisk.Disk)
	for range 2 {
		met, err := acquaintancesOf(disk, Config{Node: "n0", Group: "orders"}, true, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		assert.True(t, met.know("n2", "orders"))
		assert.True(t, met.note("n1", "orders"))
	}
}

// A node that makes its store anew may have had one before, and the peers of that life remember
// it, as it does them.
func TestANewStoreForgetsNobody(t *testing.T) {
	disk := new(crashdisk.Disk)
	for _, peer := range []string{"n1", "n2"} {
		met, err := acquaintancesOf(disk, Config{Node: "n0", Group: "orders"}, false, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, met.begin())
		assert.Equal(t, peer == "n2", met.know("n1", "orders"))
		require.True(t, met.note(peer, "orders"))
	}
}

// Messages come in while peers ask, each in a goroutine of its own. This is for the race detector.
func TestPeersAreNotedWhileOthersAsk(t *testing.T) {
	met, err := acquaintancesOf(new(crashdisk.Disk), Config{Node: "n0", Group: "orders"}, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	var beside sync.WaitGroup
	for i := range 20 {
		peer := fmt.Sprint("n", i)
		beside.Go(func() { assert.True(t, met.note(peer, "orders")) })
		beside.Go(func() { met.know(peer, "orders") })
	}
	beside.Wait()
	for i := range 20 {
		assert.True(t, met.know(fmt.Sprint("n", i), "orders"))
	}
}

func TestAnUnreadableRecordOfPeersIsAnError(t *testing.T) {
	disk := new(crashdisk.Disk)
	f, err := disk.Create("n0.peers")
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("{"), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = acquaintancesOf(disk, Config{Node: "n0", Group: "orders"}, true, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "n0.peers: cannot read the peers that this node has heard from")
}
