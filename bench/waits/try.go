// One try: three processes, clients that write, and what happens to the leader.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hustings/hustings/internal/faultdisk"
)

// store is three processes that are one store.
type store interface {
	// leader is which of the processes leads; an error if none is known to.
	leader(ctx context.Context) (int, error)
	// write makes another client.
	client() (write func(ctx context.Context, key, value []byte) error, err error)
	// drain has a process hand over what it leads.
	drain(ctx context.Context, process int) error
	// ready returns an error as long as a process that was started knows of no leader.
	ready(ctx context.Context, process int) error
	close()
}

// process is one of them.
type process struct {
	binary string
	args   []string
	first  []string // arguments of its first start only
	data   string   // the folder of its data
	disk   *faultdisk.Disk
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has
}

func (p *process) start() error {
	p.cmd = exec.Command(p.binary, append(p.args, p.first...)...)
	p.first = nil
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	go func() {
		_ = cmd.Wait() // by a signal, or by itself
		close(ended)
	}()
	return nil
}

// none of the processes.
const none = -1

// checkRuns returns an error if a process but one has ended by itself, since then something else is measured than was asked.
func checkRuns(processes []*process, but int) error {
	for i, p := range processes {
		if i == but || p.cmd == nil { // nil: it was told to end
			continue
		}
		select {
		case <-p.ended:
			return fmt.Errorf("process %d has ended by itself: %v", i, p.cmd.ProcessState)
		default:
		}
	}
	return nil
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// end ends it by a signal.
func (p *process) end(s syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = p.signal(syscall.SIGCONT)
	_ = p.signal(s)
	<-p.ended
	p.cmd = nil
}

// mount has the process keep its data on a disk that can fail.
func (p *process) mount() (err error) {
	below := p.data + ".disk"
	for _, dir := range []string{below, p.data} {
		if err := os.MkdirAll(dir, 0o700); err != nil { // etcd warns of others
			return err
		}
	}
	p.disk, err = faultdisk.Mount(below, p.data)
	return err
}

// remove ends the process, and its disk.
func (p *process) remove() {
	if p.disk != nil {
		p.disk.Heal() // before, it cannot even be killed
	}
	p.end(syscall.SIGKILL)
	if p.disk != nil {
		_ = p.disk.Unmount()
	}
}

const (
	// settles is how long a store runs before something happens.
	settles = 500 * time.Millisecond
	// measures is for how long it is measured if nothing does.
	measures = 5 * time.Second
	// patience is how long a try waits for writes to be acknowledged again.
	patience = 5 * time.Second
)

// errNotUp says that a store has not begun to work.
var errNotUp = errors.New("it does not come up")

// try measures once.
func (s *series) try(ctx context.Context, o options, binaries map[string]string, dir string) error {
	processes, st, err := s.open(o, binaries[s.Store], dir)
	if err != nil {
		return err
	}
	defer func() {
		st.close()
		for _, p := range processes {
			p.remove()
		}
		_ = os.RemoveAll(dir)
	}()
	for _, p := range processes {
		if s.Event == "hang" {
			if err := p.mount(); err != nil {
				return fmt.Errorf("a disk that can hang needs root and /dev/fuse: %w", err)
			}
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	if _, err := awaitLeader(ctx, st); err != nil {
		return fmt.Errorf("%w: %w", errNotUp, err)
	}
	var acks acks
	writing, stop := context.WithCancel(ctx)
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	every := o.every
	if s.Event == "flood" {
		every = 0
	}
	for i := range o.writers {
		write, err := st.client()
		if err != nil {
			return err
		}
		writers.Go(func() { acks.write(writing, i, o.writers, every, write) })
	}
	if err := acks.awaitEach(ctx, o.writers, time.Time{}); err != nil {
		return err
	}
	sleep(ctx, settles)
	if err := checkRuns(processes, none); err != nil {
		return fmt.Errorf("%w: %w", errNotUp, err)
	}
	return s.measure(ctx, o, &acks, st, processes)
}

// measure has something happen, and measures until all clients write again.
func (s *series) measure(ctx context.Context, o options, acks *acks, st store, processes []*process) error {
	leader, err := awaitLeader(ctx, st)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := happen(ctx, s.Event, st, processes, leader); err != nil {
		return err
	}
	if err := acks.awaitEach(ctx, o.writers, time.Now()); errors.Is(err, errNoAck) {
		s.Endless++
	} else if err != nil {
		return err
	}
	s.Gaps = append(s.Gaps, acks.longest(began, time.Now()))
	if quiet(s.Event) {
		lasted, perSecond := acks.since(began)
		s.Latencies, s.PerSecond = append(s.Latencies, lasted...), append(s.PerSecond, perSecond)
	}
	mayEnd := none
	if s.Event == "hang" {
		mayEnd = leader
	}
	return errors.Join(ctx.Err(), checkRuns(processes, mayEnd))
}

// quiet says whether nothing happens.
func quiet(event string) bool { return event == "nothing" || event == "flood" }

// open prepares a store.
func (s *series) open(o options, binary, dir string) ([]*process, store, error) {
	switch s.Store {
	case "ours":
		return openOurs(o, binary, dir)
	case "leases":
		return openOurs(o, binary, dir, "--leases")
	case "etcd":
		return openEtcd(o, binary, dir)
	case "hashicorp":
		return openHashicorp(o, binary, dir)
	}
	return nil, nil, fmt.Errorf("%q is none of ours, leases, etcd, hashicorp", s.Store)
}

// happen has something happen to the leader, or to all processes.
func happen(ctx context.Context, event string, st store, processes []*process, leader int) error {
	p := processes[leader]
	switch event {
	case "nothing", "flood":
		sleep(ctx, measures)
		return nil
	case "kill":
		p.end(syscall.SIGKILL)
		return nil
	case "stop":
		return p.signal(syscall.SIGSTOP)
	case "hang":
		p.disk.Hang()
		return nil
	case "drain":
		return st.drain(ctx, leader)
	case "roll":
		for i, p := range processes {
			p.end(syscall.SIGTERM)
			if err := p.start(); err != nil {
				return err
			}
			if err := await(ctx, fmt.Sprintf("process %d is not ready", i), func(ctx context.Context) error { return st.ready(ctx, i) }); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%q is none of nothing, flood, kill, stop, hang, drain, roll", event)
}

func awaitLeader(ctx context.Context, st store) (leader int, err error) {
	err = await(ctx, "no leader", func(ctx context.Context) error {
		leader, err = st.leader(ctx)
		return err
	})
	return leader, err
}

// await tries something until there is no error.
func await(ctx context.Context, what string, try func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := try(wait)
		if err == nil {
			return nil
		}
		if !sleep(wait, 20*time.Millisecond) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// sleep says whether it was not interrupted.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// acks are the writes that were acknowledged.
type acks struct {
	mu  sync.Mutex
	all []ack // by the time of their ends
}

// ack is one of them.
type ack struct {
	writer    int
	began, at time.Time
}

// write writes again and again. A write that fails is tried again at once.
func (a *acks) write(ctx context.Context, writer, writers int, every time.Duration, write func(ctx context.Context, key, value []byte) error) {
	value := make([]byte, 100)
	next := time.Now().Add(every * time.Duration(writer) / time.Duration(writers)) // clients do not write at the same moments
	sleep(ctx, time.Until(next))
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		if write(ctx, fmt.Appendf(nil, "%d-%d", writer, i%1000), value) == nil {
			a.mu.Lock()
			a.all = append(a.all, ack{writer, began, time.Now()})
			a.mu.Unlock()
		}
		if next = next.Add(every); time.Until(next) > 0 {
			sleep(ctx, time.Until(next))
		} else if every > 0 {
			next = time.Now()
		}
	}
}

// errNoAck says that a client has waited in vain.
var errNoAck = fmt.Errorf("a write was not acknowledged for %v", patience)

// awaitEach waits until of each writer a write was acknowledged that began after some time.
func (a *acks) awaitEach(ctx context.Context, writers int, after time.Time) error {
	wait, cancel := context.WithTimeoutCause(ctx, patience, errNoAck)
	defer cancel()
	for a.writersAfter(after) < writers {
		if !sleep(wait, 5*time.Millisecond) {
			return context.Cause(wait)
		}
	}
	return nil
}

// writersAfter is of how many writers a write was acknowledged that began after some time.
func (a *acks) writersAfter(after time.Time) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := map[int]bool{}
	for _, one := range slices.Backward(a.all) {
		if one.at.Before(after) {
			break
		}
		if one.began.After(after) {
			seen[one.writer] = true
		}
	}
	return len(seen)
}

// longest is the longest time without an acknowledgement, of those that ended between two moments or had not ended.
func (a *acks) longest(from, to time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	longest, before := time.Duration(0), a.all[0].at
	for _, one := range a.all {
		if one.at.After(from) {
			longest = max(longest, one.at.Sub(before))
		}
		before = one.at
	}
	return max(longest, to.Sub(before))
}

// since is how long each write took that began after a moment, and how many were acknowledged in a second.
func (a *acks) since(moment time.Time) (lasted []time.Duration, perSecond float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if one.began.After(moment) {
			lasted = append(lasted, one.at.Sub(one.began))
		}
	}
	return lasted, float64(len(lasted)) / time.Since(moment).Seconds()
}
