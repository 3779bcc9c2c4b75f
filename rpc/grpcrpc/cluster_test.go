// A cluster of nodes on loopback, for the tests of this package.

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

// patience bounds every wait. Only a failing test waits that long.
const patience = 20 * time.Second

type cluster struct {
	t         *testing.T
	listeners map[string]net.Listener
	addresses map[string]string
	dir       string // of the certificates; empty: no TLS
	authority *certs.Authority
	log       *logbook
	sent      uint32 // the round of the last message of reaches
}

func newCluster(t *testing.T, nodes ...string) *cluster {
	t.Helper()
	w := &cluster{t: t, listeners: map[string]net.Listener{}, addresses: map[string]string{}, log: new(logbook)}
	for _, node := range nodes {
		w.listen(node, "127.0.0.1:0")
	}
	return w
}

// newClusterWithTLS is newCluster with an authority, and a certificate for every node.
func newClusterWithTLS(t *testing.T, nodes ...string) *cluster {
	t.Helper()
	w := newCluster(t, nodes...)
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
func (w *cluster) issue(by *certs.Authority, role grpcrpc.Role, name, file string, lifetime time.Duration) *grpcrpc.TLS {
	w.t.Helper()
	pair, err := by.Issue(certs.Request{
		Identity: grpcrpc.Identity{Role: role, Name: name}, Now: time.Now(), Lifetime: lifetime,
	})
	require.NoError(w.t, err)
	require.NoError(w.t, pair.Write(w.dir, file, true))
	files := certs.Files(w.dir, file)
	return &files
}

func (w *cluster) listen(node, address string) {
	w.t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(w.t, err)
	w.listeners[node], w.addresses[node] = l, l.Addr().String()
}

func (w *cluster) config(node string) grpcrpc.Config {
	config := grpcrpc.Config{Self: node, Listener: w.listeners[node], Peers: maps.Clone(w.addresses), Logger: slog.New(slog.NewTextHandler(w.log, nil))}
	delete(config.Peers, node)
	if w.dir != "" {
		files := certs.Files(w.dir, node)
		config.TLS = &files
	}
	return config
}

// open is the transport of a node; it is closed when the test ends.
func (w *cluster) open(node string) *grpcrpc.Transport {
	w.t.Helper()
	return w.build(node, grpcrpc.New)
}

// patient is open with a handshake timeout of an hour, so that no test depends on the time that
// connecting takes.
func (w *cluster) patient(node string) *grpcrpc.Transport {
	w.t.Helper()
	return w.build(node, grpcrpc.NewUnhurried)
}

func (w *cluster) build(node string, with func(grpcrpc.Config) (*grpcrpc.Transport, error)) *grpcrpc.Transport {
	w.t.Helper()
	tr, err := with(w.config(node))
	require.NoError(w.t, err)
	w.t.Cleanup(tr.Close)
	return tr
}

// ear is a handler that passes messages and losses to channels.
type ear struct {
	heard chan rpc.Message
	lost  chan string
}

// serve opens a node and serves it until the test ends.
func (w *cluster) serve(node string) (*grpcrpc.Transport, *ear) {
	w.t.Helper()
	tr := w.open(node)
	return tr, w.listenTo(tr)
}

func (w *cluster) listenTo(tr *grpcrpc.Transport) *ear {
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
		default: // enough
		}
	}
}

func (e *ear) PeerLost(node string) { e.lost <- node }

// reaches lets one node send to another until this message arrives. Other messages do not count.
func (w *cluster) reaches(from *grpcrpc.Transport, to string, e *ear) {
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

// eventually waits until so returns true.
func (w *cluster) eventually(what string, so func() bool) {
	w.t.Helper()
	require.Eventually(w.t, so, patience, 2*time.Millisecond, "%s; the log:\n%s", what, w.log)
}

// tells waits for a line of the log with all of these parts.
func (w *cluster) tells(parts ...string) {
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

// logbook collects the log.
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

// manyVotes is a batch of 100 votes.
var manyVotes = make100()

func make100() []rpc.Message {
	batch := make([]rpc.Message, 100)
	for i := range batch {
		batch[i] = vote(uint32(i))
	}
	return batch
}
