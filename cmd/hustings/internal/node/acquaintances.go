// Whom this node has ever had a message of. A node that has lost its store cannot
// know that it has voted; but those who counted its vote had a message of it. So each
// node keeps, beside its store, who they were, and says so when it is asked
// (founding.go). The first message of a peer is taken in only when it is noted on
// disk: a vote that counted cannot be forgotten by a crash.

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
	group string // whose messages are noted; others are nobody's
	log   *slog.Logger

	mu       sync.RWMutex
	everyone bool                // it was not noted from the start: anyone may have been heard
	heard    map[string][]string // by group
	failed   time.Time           // when the disk last did
}

// acquaintancesOf are those of a node. Without a file a node that has a store may
// have heard anyone, and one without has heard nobody.
func acquaintancesOf(disk memberstate.Disk, config Config, hasStore bool, log *slog.Logger) (*acquaintances, error) {
	a := &acquaintances{
		disk: disk, path: filepath.Join(config.Data, config.Node+".peers"), group: config.Group, log: log, heard: make(map[string][]string),
	}
	err := a.read()
	if errors.Is(err, fs.ErrNotExist) {
		a.everyone, err = hasStore, nil
	}
	if err != nil {
		err = fmt.Errorf("%s: the peers that were heard cannot be read: %w", a.path, err)
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

// begin writes the file before there is a store. What an earlier life of this node
// has heard stays true.
func (a *acquaintances) begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.write()
}

// know says whether a peer was heard in a group, or may have been.
func (a *acquaintances) know(peer, group string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.everyone || slices.Contains(a.heard[group], peer)
}

// note remembers that a peer was heard, and says whether that is durable. After an
// error of the disk it tries again now and then.
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
		a.log.Error("a peer is not listened to, because it cannot be noted on disk that it was heard", "peer", peer, "group", group, "error", err)
		return false
	}
	return true
}

// write replaces the file, durably. The caller holds mu.
func (a *acquaintances) write() error {
	text, _ := json.Marshal(a.heard) // there is nothing in it that could fail
	aside := a.path + ".new"
	_ = a.disk.Remove(aside) // what an earlier attempt may have left: if that stays, Create says so
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

// introducing is a transport that notes whom it hears.
type introducing struct {
	rpc.Transport
	met *acquaintances
}

func (t introducing) Serve(h rpc.Handler) (stop func(), err error) {
	return t.Transport.Serve(introduced{h, t.met})
}

type introduced struct {
	rpc.Handler
	met *acquaintances
}

// Receive passes on what comes from those that are noted. A message that is dropped
// is one that the network has lost.
func (h introduced) Receive(batch []rpc.Message) {
	for i := range batch {
		if !h.met.note(batch[i].From, batch[i].Group) {
			return
		}
	}
	h.Handler.Receive(batch)
}
