// Real processes, which are killed, stopped, cut off, drained and started again, and whose disks fail, while clients read and write.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/examples/ledger/internal/history"
	"github.com/hustings/hustings/examples/ledger/server"
	"github.com/hustings/hustings/operator"
)

const shards = 4

// machine is a node as a process.
type machine struct {
	id, dir string
	nodes   string // all nodes, as this one reaches them
	started bool
	process *exec.Cmd
	ended   chan error       // by the process
	ending  atomic.Bool      // it may end
	links   map[string]*link // to the others
	disk    disk             // nil: it cannot fail
}

// disk is one that can fail.
type disk interface {
	Slow(each time.Duration)
	Hang()
	Fill()
	Heal()
}

// machines are all of them.
type machines struct {
	t         *testing.T
	binary    string
	addresses map[string]string // as clients reach them
	all       []*machine
}

func TestMain(m *testing.M) {
	if os.Getenv("LEDGER_TEST_NODE") == "" {
		os.Exit(m.Run())
	}
	main() // this process is a node
}

// newMachines starts three nodes.
func newMachines(t *testing.T) *machines {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	c := &machines{t: t, binary: binary, addresses: map[string]string{}}
	for i := range 3 {
		c.addresses[fmt.Sprint("n", i)] = freePair(t)
	}
	for _, id := range slices.Sorted(maps.Keys(c.addresses)) {
		m := &machine{id: id, dir: filepath.Join(t.TempDir(), id), links: map[string]*link{}}
		var nodes []string
		for other, address := range c.addresses {
			if other != id {
				m.links[other] = newLink(t, address)
				address = m.links[other].address
			}
			nodes = append(nodes, other+"="+address)
		}
		m.nodes = strings.Join(nodes, ",")
		m.disk = mount(t, m.dir)
		c.all = append(c.all, m)
	}
	t.Cleanup(func() {
		for _, m := range c.all {
			if m.disk != nil {
				m.disk.Heal() // while its disk hangs, a process cannot be killed
			}
			c.end(m, syscall.SIGKILL)
		}
	})
	for _, m := range c.all {
		c.start(m)
	}
	return c
}

// start starts a process, if none runs.
func (c *machines) start(m *machine) {
	if m.process != nil {
		return
	}
	args := []string{"--node", m.id, "--nodes", m.nodes, "--data", m.dir, "--shards", strconv.Itoa(shards)}
	if !m.started {
		args = append(args, "--new")
	}
	m.process = exec.Command(c.binary, args...)
	m.process.Env = append(os.Environ(), "LEDGER_TEST_NODE=1")
	m.process.Stderr = os.Stderr
	out, err := m.process.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, m.process.Start())
	line := make([]byte, 100)
	n, err := out.Read(line)
	require.NoError(c.t, err, "%s does not start", m.id)
	require.Contains(c.t, string(line[:n]), "serves at")
	m.started, m.ended = true, make(chan error, 1)
	m.ending.Store(false)
	go func(process *exec.Cmd, ended chan<- error) {
		err := process.Wait()
		if !m.ending.Load() {
			c.t.Errorf("%s has ended by itself: %v", m.id, err)
		}
		ended <- err
	}(m.process, m.ended)
}

// end ends a process by a signal.
func (c *machines) end(m *machine, s syscall.Signal) {
	if m.process == nil {
		return
	}
	m.ending.Store(true)
	_ = m.process.Process.Signal(syscall.SIGCONT)
	if err := m.process.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) || s != syscall.SIGKILL {
		assert.NoError(c.t, err)
	}
	err := <-m.ended
	if s == syscall.SIGTERM {
		assert.NoError(c.t, err, "%s has ended", m.id)
	}
	m.process = nil
}

// strike has one thing go wrong, or an operator do something, and then all is as before.
func (c *machines) strike(r *rand.Rand) {
	m := c.all[r.IntN(len(c.all))]
	pause := func() { <-time.After(time.Duration(r.Int64N(int64(800 * time.Millisecond)))) }
	kinds := 6
	if m.disk != nil {
		kinds = 9
	}
	switch r.IntN(kinds) {
	case 0, 1:
		c.end(m, syscall.SIGKILL)
		pause()
		c.start(m)
	case 2:
		require.NoError(c.t, m.process.Process.Signal(syscall.SIGSTOP))
		pause()
		require.NoError(c.t, m.process.Process.Signal(syscall.SIGCONT))
	case 3:
		c.end(m, syscall.SIGTERM)
		c.start(m)
	case 4:
		c.cut(m, r)
		pause()
		c.mend()
	case 5:
		c.drain(m)
	case 6:
		m.disk.Slow(time.Duration(r.Int64N(int64(50 * time.Millisecond))))
		pause()
		m.disk.Heal()
	case 7:
		m.disk.Hang()
		pause()
		m.disk.Heal()
	case 8: // the node ends when it notices, and comes back when there is room
		m.ending.Store(true)
		m.disk.Fill()
		pause()
		m.disk.Heal()
		c.end(m, syscall.SIGKILL)
		c.start(m)
	}
}

// cut cuts some directions of a node's links: those of the engines and of the electors, or one of the two.
func (c *machines) cut(m *machine, r *rand.Rand) {
	which := [][]int{{engines, electors}, {engines}, {electors}}[r.IntN(3)]
	for other, l := range m.links {
		l.set(r.IntN(2) == 0, r.IntN(2) == 0, which...)
		back := slices.IndexFunc(c.all, func(m *machine) bool { return m.id == other })
		c.all[back].links[m.id].set(r.IntN(2) == 0, r.IntN(2) == 0, which...)
	}
}

// mend mends all links.
func (c *machines) mend() {
	for _, m := range c.all {
		for _, l := range m.links {
			l.set(false, false, engines, electors)
		}
	}
}

// drain drains a node, and takes it back.
func (c *machines) drain(m *machine) {
	at, err := server.ElectionsAt(c.addresses[m.id])
	require.NoError(c.t, err)
	node, err := operator.Dial(at, nil)
	require.NoError(c.t, err)
	defer func() { _ = node.Close() }()
	wait, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	_, _ = node.Drain(wait, time.Second, nil) // others may not be able to lead
	again, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	assert.NoError(c.t, node.Undrain(again))
}

func TestProcessesLoseNoAcknowledgedWrite(t *testing.T) {
	lasts := 4 * time.Second
	if long := os.Getenv("HUSTINGS_TEST_LONG"); long != "" {
		var err error
		lasts, err = time.ParseDuration(long)
		require.NoError(t, err, "HUSTINGS_TEST_LONG is like 1h")
	} else if testing.Short() {
		t.Skip("real processes")
	}
	c := newMachines(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	questions := 0
	for round, end := 0, time.Now().Add(lasts); time.Now().Before(end) && !t.Failed(); round++ {
		questions += c.playRound(round, min(time.Until(end), 20*time.Second), rand.New(rand.NewPCG(seed, uint64(round))))
	}
	t.Logf("%d questions", questions)
}

// playRound lets clients ask about keys of their own for some time, and checks what they saw.
func (c *machines) playRound(round int, lasts time.Duration, r *rand.Rand) int {
	elections := map[string]string{}
	for id, address := range c.addresses {
		at, err := server.ElectionsAt(address)
		require.NoError(c.t, err)
		elections[id] = at
	}
	nodes, err := client.Connect(c.t.Context(), c.addresses, elections, shards)
	require.NoError(c.t, err)
	defer func() { _ = nodes.Close() }()
	over, end := context.WithCancel(c.t.Context())
	var h history.History
	var clients sync.WaitGroup
	for i := range 4 {
		r := rand.New(rand.NewPCG(r.Uint64(), 1))
		clients.Go(func() { c.serveClient(over, nodes.Client(), &h, round, i, r) })
	}
	for ends := time.Now().Add(lasts); time.Now().Before(ends) && !c.t.Failed(); {
		<-time.After(time.Duration(r.Int64N(int64(time.Second))))
		c.strike(r)
	}
	wait, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	last := nodes.Client()
	for i := range 4 * shards {
		require.NoError(c.t, last.Put(wait, fmt.Appendf(nil, "last %d", i), []byte("x")), "all is well again")
	}
	end()
	clients.Wait()
	assert.Empty(c.t, h.Check())
	return h.Len()
}

func (c *machines) serveClient(over context.Context, asks *client.Client, h *history.History, round, number int, r *rand.Rand) {
	for i := 0; over.Err() == nil; i++ {
		a := history.Asked{Does: history.Kinds[r.IntN(len(history.Kinds))], Key: fmt.Sprintf("%d.%d", round, r.IntN(5)), Value: fmt.Sprintf("%d.%d", number, i)}
		if a.Does == "swap" && r.IntN(2) == 0 {
			a.Old = h.LastPut(a.Key)
		}
		wait, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
		assert.NoError(c.t, h.Ask(wait, asks, number, a, r.IntN(2) == 0))
		cancel()
		<-time.After(time.Duration(r.Int64N(int64(5 * time.Millisecond))))
	}
}

// freePair is an address whose port and the next one are free.
func freePair(t *testing.T) string {
	t.Helper()
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := first.Addr().String()
		_, port, _ := net.SplitHostPort(address)
		n, _ := strconv.Atoi(port)
		if n >= 1<<15-1 { // above, systems give ports to connections
			n = 1<<14 + rand.IntN(1<<13)*2
			address = net.JoinHostPort("127.0.0.1", strconv.Itoa(n))
		}
		_ = first.Close()
		a, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		b, err := net.Listen("tcp", nextPort(t, address, 1))
		_ = a.Close()
		if err == nil {
			_ = b.Close()
			return address
		}
	}
	t.Fatal("no two free ports in a row")
	return ""
}

// nextPort is an address some ports further.
func nextPort(t *testing.T, address string, by int) string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return net.JoinHostPort(host, strconv.Itoa(n+by))
}
