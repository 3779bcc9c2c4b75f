// Making a node's store, once in its life. A second store, made because the first one was
// lost, would not know the node's votes: the node could vote again, and elect two leaders
// in one term.
//
// With --new=if-missing a node without a store makes one if every other voter says that it
// never had a message from this node. Such a voter has counted no vote of this node, and a
// vote that was never counted has elected no leader. Every voter must answer, because the
// silent one may be the one that was elected. With --new the operator answers for those that
// are silent, because all may just be starting.
//
// Nothing that is said makes a node new whose own files show that it has run: those of its store
// (memberstate.ErrStoreLost), and the peers that it has heard.

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hustings/hustings/internal/backoff"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// CreateStore makes the store of a node that has never run, and its directory if it is
// missing. It returns the store's path.
func CreateStore(data, node string) (path string, err error) {
	c := Config{Data: data, Node: node}
	if problem := notAFileName(node); problem != "" {
		return "", ConfigError{fmt.Errorf("--node %s", problem)}
	}
	met, err := acquaintancesOf(memberstate.OSDisk(), c, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	s, err := createStore(memberstate.FileOptions{}, c, met)
	if err != nil {
		return "", err
	}
	return StorePath(data, node), s.Close()
}

func createStore(files memberstate.FileOptions, c Config, met *acquaintances) (*memberstate.FileStore, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, err
	}
	path := StorePath(c.Data, c.Node)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := isNew(files, path, met); err != nil {
			return nil, err
		}
		if err := met.begin(); err != nil {
			return nil, err
		}
	}
	return files.Create(path, c.Node)
}

// isNew returns an error if files beside a missing store show that its node has run.
func isNew(files memberstate.FileOptions, path string, met *acquaintances) error {
	if err := files.Lost(path); err != nil {
		return err
	}
	if peers := met.all(); len(peers) > 0 {
		return fmt.Errorf("%s: %w. If the store is not elsewhere, this node must come back under another id: it has heard %s, says %s. "+
			"Remove that file only if all nodes of the group begin anew", path, memberstate.ErrStoreLost, strings.Join(peers, " and "), met.path)
	}
	return nil
}

// openStore opens the store. With --new and --new=if-missing it leaves a missing one to found.
func (n *node) openStore() (err error) {
	c := n.config
	path := StorePath(c.Data, c.Node)
	n.files = memberstate.FileOptions{Disk: n.metrics.Disk(memberstate.OSDisk()), Logger: n.log, Metrics: n.metrics.Store()}
	_, statErr := os.Stat(path)
	missing := errors.Is(statErr, fs.ErrNotExist)
	if n.met, err = acquaintancesOf(memberstate.OSDisk(), c, !missing, n.log); err != nil {
		return err
	}
	if c.New {
		if missing {
			return isNew(n.files, path, n.met)
		}
		if n.store, err = createStore(n.files, c, n.met); errors.Is(err, memberstate.ErrStoreExists) {
			err = fmt.Errorf("%w (leave out --new)", err)
		}
		return err
	}
	if missing {
		if _, err := os.Stat(c.Data); err != nil {
			return fmt.Errorf("--data %s: %w; is the disk mounted? If this node has never run before, "+
				"make the directory, or use \"hustings store create\" (%w)", c.Data, memberstate.ErrNoStore, err)
		}
		if c.NewIfMissing {
			return isNew(n.files, path, n.met)
		}
	}
	n.store, err = n.files.Open(path, c.Node)
	if errors.Is(err, memberstate.ErrNoStore) {
		if lost := isNew(n.files, path, n.met); lost != nil {
			return lost
		}
		err = fmt.Errorf("%w (is the disk mounted? Use --new if this node has never run before)", err)
	}
	return err
}

// found makes the store of a node that has none, once all other voters have said that they
// do not know the node. It waits for them until the context ends; with --new it waits for none.
// Meanwhile it answers the same question of others, but takes in no messages.
func (n *node) found(ctx context.Context) error {
	stop, err := n.transport.Serve(deaf{})
	if err != nil {
		return err
	}
	defer stop()
	waits := backoff.Waits{Shortest: 100 * time.Millisecond, Longest: 8 * time.Second}
	asked := n.config.othersThatVote()
	for {
		open, problems, err := n.silentVoters(ctx, asked)
		if err != nil {
			return err
		}
		if len(open) == 0 || n.config.New {
			if !n.config.New {
				n.log.Warn("making the store of this node, because no other voter has ever heard from it", "store", StorePath(n.config.Data, n.config.Node))
			}
			n.store, err = createStore(n.files, n.config, n.met)
			return err
		}
		if !waits.First() { // not at once, because all may just be starting
			n.log.Warn("there is no store; waiting for all voters to say whether they know this node",
				"voters", strings.Join(open, ","), "error", oneLine(problems), "again_in", waits.Next())
		}
		asked = open
		if err := waits.Wait(ctx); err != nil {
			return err
		}
	}
}

var errKnown = errors.New("this node is not new: it has lost its store, and with it the votes that it gave; " +
	"it must come back under another id")

// silentVoters asks voters, all at once, whether they know this node, and returns those
// that do not answer. It returns an error if one knows the node.
func (n *node) silentVoters(ctx context.Context, voters []string) (silent []string, problems, known error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make([]struct {
		known bool
		err   error
	}, len(voters))
	var asking sync.WaitGroup
	for i, voter := range voters {
		asking.Go(func() { answers[i].known, answers[i].err = n.transport.KnownBy(ctx, voter, n.config.Group) })
	}
	asking.Wait()
	var by []string
	for i, a := range answers {
		switch {
		case a.known:
			by = append(by, voters[i])
		case a.err != nil:
			silent, problems = append(silent, voters[i]), errors.Join(problems, a.err)
		}
	}
	if len(by) > 0 {
		known = fmt.Errorf("messages from %s in group %s have reached %s, or may have: %w", n.config.Node, n.config.Group, strings.Join(by, " and "), errKnown)
	}
	return silent, problems, known
}

// deaf is a handler that ignores everything.
type deaf struct{}

func (deaf) Receive([]rpc.Message) {}
func (deaf) PeerLost(string)       {}

// lateStore is the store of a node, which is made only after the host is. The host uses it
// only after that.
type lateStore struct{ node *node }

func (s lateStore) Load(group string) (memberstate.Record, bool, error) {
	return s.node.store.Load(group)
}
func (s lateStore) Save(batch []memberstate.Record) error { return s.node.store.Save(batch) }
