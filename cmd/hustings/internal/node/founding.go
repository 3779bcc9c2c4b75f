// The beginning of a node: its store is made once in its life. A store that is made a
// second time, because the first one was lost, forgets votes: the node could give
// them again, and elect two leaders of one term.
//
// With --new=if-missing a node that finds no store makes one if every other voter
// says that it never had a message of this node. Those who say so have counted no
// vote of it, and a vote that nobody counted elected nobody. One answer that is
// missing is too little: that voter may be the one that was elected.

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

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// CreateStore makes the store of a node that has never run, in a directory that is
// made if it is missing. It returns the store's path.
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
		if err := met.begin(); err != nil {
			return nil, err
		}
	}
	return files.Create(path, c.Node)
}

// openStore opens the store, or makes it if it is to be new. It leaves it to found if
// it is missing and may be.
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
		if n.store, err = createStore(n.files, c, n.met); errors.Is(err, memberstate.ErrStoreExists) {
			err = fmt.Errorf("%w (leave out --new)", err)
		}
		return err
	}
	if missing {
		if _, err := os.Stat(c.Data); err != nil {
			return fmt.Errorf("--data %s: %w; is the disk mounted? If this node has never run before, "+
				"make the directory, or have \"hustings store create\" do it (%w)", c.Data, memberstate.ErrNoStore, err)
		}
		if c.NewIfMissing {
			return nil
		}
	}
	n.store, err = n.files.Open(path, c.Node)
	if errors.Is(err, memberstate.ErrNoStore) {
		err = fmt.Errorf("%w (is the disk mounted? Say --new if this node has never run before)", err)
	}
	return err
}

// found makes the store of a node that found none, once all other voters have said
// that they do not know it. It waits for them until the context ends. It answers the
// same question meanwhile, but hears no messages.
func (n *node) found(ctx context.Context) error {
	stop, err := n.transport.Serve(deaf{})
	if err != nil {
		return err
	}
	defer stop()
	const shortest, longest = 100 * time.Millisecond, 8 * time.Second
	asked := n.config.othersThatVote()
	for wait := shortest; ; wait = min(2*wait, longest) {
		open, problems, err := n.whoIsSilent(ctx, asked)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			n.log.Warn("this node is new: no voter has ever heard of it; its store is being made", "store", StorePath(n.config.Data, n.config.Node))
			n.store, err = createStore(n.files, n.config, n.met)
			return err
		}
		if wait > shortest { // at first all may be starting
			n.log.Warn("there is no store; waiting for voters to say whether they know this node",
				"voters", strings.Join(open, ","), "error", oneLine(problems), "again_in", wait)
		}
		asked = open
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// errKnown: the node is not new.
var errKnown = errors.New("this node is not new: it has lost its store, and with it the knowledge of whom it voted for; " +
	"it must come back under another id")

// whoIsSilent asks voters whether they know this node, all at once, and returns those
// that do not answer. It is an error if one knows it.
func (n *node) whoIsSilent(ctx context.Context, voters []string) (silent []string, problems, known error) {
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
		known = fmt.Errorf("there were messages of %s in group %s, or may have been, at %s: %w", n.config.Node, n.config.Group, strings.Join(by, " and "), errKnown)
	}
	return silent, problems, known
}

// deaf is a handler that takes in nothing.
type deaf struct{}

func (deaf) Receive([]rpc.Message) {}
func (deaf) PeerLost(string)       {}

// lateStore is the store of a node that may not have been made yet. Nobody asks for
// it before.
type lateStore struct{ node *node }

func (s lateStore) Load(group string) (memberstate.Record, bool, error) {
	return s.node.store.Load(group)
}
func (s lateStore) Save(batch []memberstate.Record) error { return s.node.store.Save(batch) }
