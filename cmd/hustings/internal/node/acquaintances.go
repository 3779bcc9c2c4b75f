// The peers from which this node has ever had a message. A node that has lost its store
// cannot know that it has voted, but a candidate that counted its vote had a message from
// it. So each node records these peers beside its store, and other nodes ask for them
// (founding.go). The first message of a peer is taken in only after the peer is recorded on
// disk, so that no crash makes this node forget a peer whose vote it counted.

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// acquaintances are the peers that were heard in each group. They are safe for
// concurrent use.
type acquaintances struct {
	disk  memberstate.Disk
	path  string
	group string // the only group whose messages are recorded
	log   *slog.Logger

	mu       sync.RWMutex
	everyone bool                // any peer may have been heard, because the record did not begin with the store
	heard    map[string][]string // by group
	failed   time.Time           // of the disk's last error
}

// acquaintancesOf reads the acquaintances of a node. If there is no file, a node with a
// store may have heard any peer, and a node without one has heard none.
func acquaintancesOf(disk memberstate.Disk, config Config, hasStore bool, log *slog.Logger) (*acquaintances, error) {
	a := &acquaintances{
		disk: disk, path: filepath.Join(config.Data, config.Node+".peers"), group: config.Group, log: log, heard: make(map[string][]string),
	}
	err := a.read()
	if errors.Is(err, fs.ErrNotExist) {
		a.everyone, err = hasStore, nil
	}
	if err != nil {
		err = fmt.Errorf("%s: cannot read the peers that this node has heard from: %w", a.path, err)
	}
	return a, err
}

func (a *acquaintances) read() (err error) {
	f, err := a.disk.Open(a.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return json.NewDecoder(io.NewSectionReader(f, 0, size)).Decode(&a.heard)
}

// begin writes the file before there is a store. It keeps the peers that were heard in other groups.
func (a *acquaintances) begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.write()
}

// know reports whether a peer was heard in a group, or may have been.
func (a *acquaintances) know(peer, group string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.everyone || slices.Contains(a.heard[group], peer)
}

// all returns the peers that were heard in the group, or, if there is none, in any group.
func (a *acquaintances) all() (peers []string) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for group, heard := range a.heard {
		if a.group == "" || group == a.group {
			peers = append(peers, heard...)
		}
	}
	slices.Sort(peers)
	return slices.Compact(peers)
}

// answer is know for a peer that has no store and asks. An operator learns of one that has lost it.
func (a *acquaintances) answer(peer, group string) bool {
	known := a.know(peer, group)
	if known {
		a.log.Warn("a peer that has no store asks whether it is new, and is told no, because messages from it have reached this node, or may have",
			"peer", peer, "group", group)
	}
	return known
}

// note records that a peer was heard, and reports whether that is durable. After an error of
// the disk it tries again at intervals.
func (a *acquaintances) note(peer, group string) bool {
	if group != a.group || a.know(peer, group) {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.failed.IsZero() && time.Since(a.failed) < patience {
		return false
	}
	before := a.heard[group]
	a.heard[group] = append(slices.Clone(before), peer)
	if err := a.write(); err != nil {
		a.heard[group], a.failed = before, time.Now()
		a.log.Error("the messages of a peer are dropped, because this node cannot record on disk that it has heard from it", "peer", peer, "group", group, "error", err)
		return false
	}
	return true
}

// write replaces the file, durably. The caller holds mu.
func (a *acquaintances) write() error {
	text, _ := json.Marshal(a.heard) // strings cannot fail
	aside := a.path + ".new"
	_ = a.disk.Remove(aside) // a leftover of an earlier attempt; if it stays, Create fails
	f, err := a.disk.Create(aside)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = a.disk.Rename(aside, a.path)
	}
	if err != nil {
		return err
	}
	dir, err := a.disk.Dir(a.path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// introducing is a transport that records from which peers it has messages.
type introducing struct {
	rpc.BeatTransport
	met *acquaintances
}

func (t introducing) Serve(h rpc.Handler) (stop func(), err error) {
	return t.BeatTransport.Serve(introduced{h, t.met})
}

type introduced struct {
	rpc.Handler
	met *acquaintances
}

// Receive passes on a batch once its senders are recorded. Otherwise it drops the batch,
// as if the network had lost it.
func (h introduced) Receive(batch []rpc.Message) {
	for i := range batch {
		if !h.met.note(batch[i].From, batch[i].Group) {
			return
		}
	}
	h.Handler.Receive(batch)
}

// ReceiveBeat passes on a beat. Its sender need not be recorded: a beat has no vote, and it counts as an answer
// only in a group in which a message of its sender has been taken in before.
func (h introduced) ReceiveBeat(b *rpc.Beat) {
	if beats, takes := h.Handler.(rpc.BeatHandler); takes {
		beats.ReceiveBeat(b)
	}
}
