// A town of nodes on loopback, for the tests of this package.

package grpcrpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// patience is how long anything may take. Nothing takes as long unless it fails.
const patience = 20 * time.Second

type town struct {
	t         *testing.T
	listeners map[string]net.Listener
	addresses map[string]string
	dir       string // of the certificates; empty: no TLS
	authority *certs.Authority
	log       *logbook
	sent      uint32 // how often somebody was to reach somebody
}

func newTown(t *testing.T, nodes ...string) *town {
	t.Helper()
	w := &town{t: t, listeners: map[string]net.Listener{}, addresses: map[string]string{}, log: new(logbook)}
	for _, node := range nodes {
		w.listen(node, "127.0.0.1:0")
	}
	return w
}

// newTownWithTLS has an authority, and a certificate for every node.
func newTownWithTLS(t *testing.T, nodes ...string) *town {
	t.Helper()
	w := newTown(t, nodes...)
	w.dir = t.TempDir()
	w.authority = newAuthority(t)
	require.NoError(t, w.authority.WriteAuthority(w.dir))
	for _, node := range nodes {
		w.issue(w.authority, grpcrpc.Member, node, node, time.Hour)
	}
	return w
}

func newAuthority(t *testing.T) *certs.Authority {
	t.Helper()
	a, err := certs.NewAuthority(time.Now(), time.Hour)
	require.NoError(t, err)
	return a
}

// issue writes a certificate into the files of a name.
func (w *town) issue(by *certs.Authority, role grpcrpc.Role, name, file string, lifetime time.Duration) *grpcrpc.TLS {
	w.t.Helper()
	pair, err := by.Issue(certs.Request{
		Identity: grpcrpc.Identity{Role: role, Name: name}, Now: time.Now(), Lifetime: lifetime,
	})
	require.NoError(w.t, err)
	require.NoError(w.t, pair.Write(w.dir, file, true))
	files := certs.Files(w.dir, file)
	return &files
}

func (w *town) listen(node, address string) {
	w.t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(w.t, err)
	w.listeners[node], w.addresses[node] = l, l.Addr().String()
}

func (w *town) config(node string) grpcrpc.Config {
	config := grpcrpc.Config{Self: node, Listener: w.listeners[node], Peers: maps.Clone(w.addresses), Logger: slog.New(slog.NewTextHandler(w.log, nil))}
	delete(config.Peers, node)
	if w.dir != "" {
		files := certs.Files(w.dir, node)
		config.TLS = &files
	}
	return config
}

// open is the transport of a node; it is closed when the test ends.
func (w *town) open(node string) *grpcrpc.Transport {
	w.t.Helper()
	return w.build(node, grpcrpc.New)
}

// patient gives everyone an hour to say who they are, so that the time that others need
// to connect says nothing about what becomes of them.
func (w *town) patient(node string) *grpcrpc.Transport {
	w.t.Helper()
	return w.build(node, grpcrpc.NewUnhurried)
}

func (w *town) build(node string, with func(grpcrpc.Config) (*grpcrpc.Transport, error)) *grpcrpc.Transport {
	w.t.Helper()
	tr, err := with(w.config(node))
	require.NoError(w.t, err)
	w.t.Cleanup(tr.Close)
	return tr
}

// ear is a handler that passes on what it hears.
type ear struct {
	heard chan rpc.Message
	lost  chan string
}

// serve opens a node and has it listen until the test ends.
func (w *town) serve(node string) (*grpcrpc.Transport, *ear) {
	w.t.Helper()
	tr := w.open(node)
	return tr, w.listenTo(tr)
}

func (w *town) listenTo(tr *grpcrpc.Transport) *ear {
	w.t.Helper()
	e := &ear{make(chan rpc.Message, 10000), make(chan string, 100)}
	stop, err := tr.Serve(e)
	require.NoError(w.t, err)
	w.t.Cleanup(stop)
	return e
}

func (e *ear) Receive(batch []rpc.Message) {
	for _, m := range batch {
		select {
		case e.heard <- m:
		default: // it has heard enough
		}
	}
}

func (e *ear) PeerLost(node string) { e.lost <- node }

// reaches has one node send to another until it is heard. What others sent, or
// what was sent before, does not count.
func (w *town) reaches(from *grpcrpc.Transport, to string, e *ear) {
	w.t.Helper()
	w.sent++
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		from.Send(to, []rpc.Message{vote(w.sent)})
		select {
		case m := <-e.heard:
			if m.Round == w.sent {
				return
			}
		case <-again.C:
		case <-ctx.Done():
			require.FailNow(w.t, "nothing arrives", "at %s; the log:\n%s", to, w.log)
		}
	}
}

func vote(round uint32) rpc.Message {
	return rpc.Message{Group: "g", Voters: 1, Body: rpc.Body{Kind: rpc.VoteRequest, Round: round, Term: 1}}
}

// eventually waits until something is so.
func (w *town) eventually(what string, so func() bool) {
	w.t.Helper()
	require.Eventually(w.t, so, patience, 2*time.Millisecond, "%s; the log:\n%s", what, w.log)
}

// tells waits for a line of the log that holds all of these.
func (w *town) tells(parts ...string) {
	w.t.Helper()
	w.eventually("a line has "+strings.Join(parts, ", "), func() bool {
		for line := range strings.Lines(w.log.String()) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return true
			}
		}
		return false
	})
}

// logbook keeps what was logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// manyVotes is a batch of some size.
var manyVotes = make100()

func make100() []rpc.Message {
	batch := make([]rpc.Message, 100)
	for i := range batch {
		batch[i] = vote(uint32(i))
	}
	return batch
}
