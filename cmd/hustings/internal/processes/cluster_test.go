//go:build linux

// A cluster of real processes: this test's own binary, run as "hustings serve".

package processes_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/cmd/hustings/internal/cli"
	"github.com/hustings/hustings/cmd/hustings/internal/node"
	"github.com/hustings/hustings/cmd/hustings/internal/processes"
	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/internal/faultproxy"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// asCommand in the environment makes this binary run the command.
const asCommand = "HUSTINGS_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if name := os.Getenv(asWorker); name != "" {
		work(name)
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	passOnTerminalSignals()
	_ = flag.Set("test.parallel", "6") // they wait more than they work; what the command line says counts
	goleak.VerifyTestMain(m)
}

// passOnTerminalSignals starts the nodes with default handling of a terminal's signals.
// Otherwise they would inherit that these are ignored here, as under nohup or behind an & of a
// script. signal.Reset does not undo that, but signal.Notify does.
func passOnTerminalSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// patience is the time after which a test gives up.
const patience = 30 * time.Second

type cluster struct {
	t       *testing.T
	ids     []string
	dir     string // certificates, and the stores
	listen  map[string]string
	proxies map[[2]string]*faultproxy.Proxy // by caller and called; none: direct
	flags   []string
	data    map[string]string
	lease   string
	grouped bool
	journal *diary
	nodes   map[string]*process // the running ones
	starts  map[string]int      // how often each was started
	pages   map[string]string   // the addresses of their pages; none: they have no pages
	older   map[string]string   // nodes that run another binary, with its path
	more    map[string][]string // what some nodes have in their environment besides
	checker processes.Checker

	mu      sync.Mutex
	changed *sync.Cond
	events  []node.Event
}

type clusterOptions struct {
	size    int
	proxied bool
	flags   []string
	data    map[string]string // where a node keeps its store, if not with the others
	lease   string            // the URL of the database whose lease they contend for; none: they vote
	grouped bool              // each node is in a process group of its own
	journal *diary            // what the workers on the leader write to, if the flags have it run any
	pages   bool              // each node serves pages
	older   string            // the path of a binary that all nodes run at first, in place of this one

	environment map[string][]string // what some nodes have in their environment besides
}

func newCluster(t *testing.T, o clusterOptions) *cluster {
	t.Helper()
	c := &cluster{
		t: t, dir: t.TempDir(), listen: map[string]string{}, flags: o.flags, data: o.data, lease: o.lease, grouped: o.grouped, journal: o.journal,
		proxies: map[[2]string]*faultproxy.Proxy{}, nodes: map[string]*process{}, starts: map[string]int{}, pages: map[string]string{},
		older: map[string]string{}, more: o.environment,
	}
	c.changed = sync.NewCond(&c.mu)
	for i := range o.size {
		c.ids = append(c.ids, fmt.Sprintf("n%d", i))
	}
	t.Cleanup(c.end)
	if c.lease != "" {
		for _, id := range c.ids {
			c.start(id)
		}
		return c
	}
	c.certify()
	c.giveAddresses()
	if o.proxied {
		c.putProxiesBetween()
	}
	for i, id := range c.ids {
		if o.pages {
			host, _, _ := strings.Cut(c.listen[id], ":")
			c.pages[id] = fmt.Sprintf("%s:%d", host, 19_000+i)
		}
		if o.older != "" {
			c.older[id] = o.older
		}
	}
	for _, id := range c.ids {
		c.start(id, "--new")
	}
	return c
}

func (c *cluster) certify() {
	c.t.Helper()
	a, err := certs.NewAuthority(time.Now(), time.Hour)
	require.NoError(c.t, err)
	require.NoError(c.t, a.WriteAuthority(c.dir))
	issue := func(role grpcrpc.Role, name string) {
		pair, err := a.Issue(certs.Request{Identity: grpcrpc.Identity{Role: role, Name: name}, Now: time.Now(), Lifetime: time.Hour})
		require.NoError(c.t, err)
		require.NoError(c.t, pair.Write(c.dir, name, false))
	}
	issue(grpcrpc.Operator, "alice")
	for _, id := range c.ids {
		issue(grpcrpc.Member, id)
	}
}

// giveAddresses gives each node an address that no other test has, in this process or another:
// Linux has all of 127.0.0.0/8 for itself. Ports of one address that are free now could be
// taken by another test while a node is restarted.
func (c *cluster) giveAddresses() {
	r := rand.Uint32()
	for i, id := range c.ids {
		c.listen[id] = fmt.Sprintf("127.%d.%d.%d:%d", 1+r%200, r>>8%256, 1+r>>16%200, 20_000+i)
	}
}

func (c *cluster) putProxiesBetween() {
	c.t.Helper()
	for _, from := range c.ids {
		for _, to := range c.ids {
			if from < to { // who calls
				p, err := faultproxy.New(c.listen[to])
				require.NoError(c.t, err)
				c.proxies[[2]string{from, to}] = p
			}
		}
	}
}

// process is one incarnation of a node.
type process struct {
	cmd    *exec.Cmd
	stdout io.Closer     // this end of it
	ended  chan struct{} // closed when it has ended and all that it said was read
	err    error
	stderr *bytes.Buffer
}

// part says what a node takes part in.
func (c *cluster) part(id string) []string {
	if c.lease != "" {
		return []string{"--lease", c.lease}
	}
	var members []string
	for _, other := range c.ids {
		address := c.listen[other]
		if p := c.proxies[[2]string{id, other}]; p != nil {
			address = p.Address()
		}
		members = append(members, other+"="+address)
	}
	return []string{
		"--members", strings.Join(members, ","), "--listen", c.listen[id],
		"--data", cmp.Or(c.data[id], c.dir), "--tls", c.dir, "--http", c.pages[id],
	}
}

// start starts a node.
func (c *cluster) start(id string, flags ...string) {
	c.t.Helper()
	args := slices.Concat([]string{"serve", "--json", "--node", id}, c.part(id), flags, c.flags)
	p := &process{cmd: c.command(args...), ended: make(chan struct{}), stderr: new(bytes.Buffer)}
	if older := c.older[id]; older != "" {
		p.cmd.Path, p.cmd.Args[0] = older, older
	}
	p.cmd.Env = append(p.cmd.Env, c.more[id]...)
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.grouped}
	p.cmd.WaitDelay = patience // a program that outlives its node has its stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, p.cmd.Start())
	p.stdout = out
	c.nodes[id] = p
	go func() {
		defer close(p.ended)
		c.read(out)
		p.err = p.cmd.Wait()
	}()
	c.starts[id]++
	c.awaitStart(id)
}

// awaitStart waits until a node has printed as many start events as it was started.
func (c *cluster) awaitStart(id string) {
	c.t.Helper()
	seen := 0
	c.await(id+" starts", func(e node.Event) bool {
		if e.Event == "start" && e.Node == id {
			seen++
		}
		return seen == c.starts[id]
	})
}

// command returns a command that runs this binary as hustings.
func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if c.journal != nil {
		cmd.Env = append(cmd.Env, self+"="+os.Args[0], journal+"="+c.journal.file.Name())
	}
	return cmd
}

// read reads the events of a node.
func (c *cluster) read(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var e node.Event
		if !assert.NoError(c.t, json.Unmarshal(lines.Bytes(), &e), "%s", lines.Bytes()) {
			continue
		}
		c.checker.Add(e)
		e.Node, _, _ = strings.Cut(e.Node, "#") // its name will do for the tests
		c.mu.Lock()
		c.events = append(c.events, e)
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

// await waits for an event, and returns it.
func (c *cluster) await(what string, is func(node.Event) bool) node.Event {
	c.t.Helper()
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer timer.Stop()
	began := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for seen := 0; ; {
		if i := slices.IndexFunc(c.events[seen:], is); i >= 0 {
			return c.events[seen+i]
		}
		seen = len(c.events)
		if time.Since(began) > patience {
			require.FailNow(c.t, "did not happen: "+what, "%+v", c.events[max(0, seen-20):])
		}
		c.changed.Wait()
	}
}

// leaderAfter waits for an event that a node leads a term later than this one.
func (c *cluster) leaderAfter(term memberstate.Term) node.Event {
	c.t.Helper()
	return c.await(fmt.Sprintf("a leader after term %d", term), func(e node.Event) bool { return e.Event == "lead" && e.Term > term })
}

// followed waits until all running nodes follow the leader of a term, or a later one.
func (c *cluster) followed(term memberstate.Term) {
	c.t.Helper()
	for id := range c.nodes {
		c.await(id+" follows", func(e node.Event) bool { return e.Event == "role" && e.Node == id && e.Term >= term && e.Leader != "" })
	}
}

func (c *cluster) signal(id string, s syscall.Signal) {
	c.t.Helper()
	require.NoError(c.t, c.nodes[id].cmd.Process.Signal(s))
}

// kill ends a node's process without warning, and waits until it is gone.
func (c *cluster) kill(id string) {
	c.t.Helper()
	c.signal(id, syscall.SIGKILL)
	<-c.nodes[id].ended
	delete(c.nodes, id)
}

// end stops all nodes as an operator does, and checks their events.
func (c *cluster) end() {
	for _, p := range c.nodes {
		for _, s := range []os.Signal{syscall.SIGCONT, syscall.SIGTERM} {
			_ = p.cmd.Process.Signal(s) // one that is gone already says so below
		}
	}
	for id, p := range c.nodes {
		select {
		case <-p.ended:
			assert.NoError(c.t, p.err, "%s: %s", id, p.stderr)
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
			assert.Fail(c.t, "does not end", "%s: %s", id, p.stderr)
			<-p.ended
		}
	}
	for _, p := range c.proxies {
		assert.NoError(c.t, p.Close())
	}
	assert.Empty(c.t, c.checker.Problems())
}

// run runs the command beside the nodes and returns what it printed.
func (c *cluster) run(args ...string) (stdout string, err error) {
	cmd := c.command(args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, &problems)
	}
	return out.String(), nil
}

// operate runs an operator's command against a node.
func (c *cluster) operate(command, id string) string {
	c.t.Helper()
	out, err := c.tryToOperate(command, id)
	require.NoError(c.t, err, out)
	return out
}

func (c *cluster) tryToOperate(command, id string, args ...string) (stdout string, err error) {
	return c.run(append([]string{command, "--json", "--address", c.listen[id], "--tls", c.dir, "--as", "alice"}, args...)...)
}

// order has the leadership moved by an operator's command. On a machine that is too busy the leader may go
// by itself just then, and the command fails; so it is tried again.
func (c *cluster) order(command, id string, args ...string) {
	c.t.Helper()
	for range maxTries {
		out, err := c.tryToOperate(command, id, args...)
		if err == nil {
			return
		}
		c.t.Logf("%s: %v: %s", command, err, out)
	}
	require.FailNow(c.t, "the order is never carried out", command)
}
