// One try: three processes, clients that write, and what happens to the leader.

package main

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// store is three processes that are one store.
type store interface {
	// leader is which of the processes leads; an error if none is known to.
	leader(ctx context.Context) (int, error)
	// write makes another client.
	client() (write func(ctx context.Context, key, value []byte) error, err error)
	// drain has a process hand over what it leads.
	drain(ctx context.Context, process int) error
	close()
}

// process is one of them.
type process struct {
	binary string
	args   []string
	cmd    *exec.Cmd
}

func (p *process) start() error {
	p.cmd = exec.Command(p.binary, p.args...)
	return p.cmd.Start()
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// end ends it by a signal.
func (p *process) end(s syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = p.signal(syscall.SIGCONT)
	_ = p.signal(s)
	_ = p.cmd.Wait() // by a signal
	p.cmd = nil
}

// settles is how long a store runs before something happens, and after it is over.
const settles = time.Second

// try measures once.
func (s *series) try(ctx context.Context, o options, binaries map[string]string, dir string) error {
	processes, st, err := s.open(o, binaries[s.Store], dir)
	if err != nil {
		return err
	}
	defer func() {
		st.close()
		for _, p := range processes {
			p.end(syscall.SIGKILL)
		}
	}()
	for _, p := range processes {
		if err := p.start(); err != nil {
			return err
		}
	}
	if _, err := awaitLeader(ctx, st); err != nil {
		return err
	}
	var acks acks
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var writers sync.WaitGroup
	every := o.every
	if s.Event == "flood" {
		every = 0
	}
	for i := range o.writers {
		write, err := st.client()
		if err != nil {
			return err
		}
		writers.Go(func() { acks.write(writing, i, every, write) })
	}
	if !sleep(ctx, settles) {
		return ctx.Err()
	}
	began := time.Now()
	leader, err := awaitLeader(ctx, st)
	if err != nil {
		return err
	}
	if err := happen(ctx, s.Event, st, processes[leader]); err != nil {
		return err
	}
	if err := acks.awaitAfter(ctx, o.writers); err != nil {
		return err
	}
	sleep(ctx, settles)
	stop()
	writers.Wait()
	s.Gaps = append(s.Gaps, acks.longest(began))
	if s.Event == "nothing" || s.Event == "flood" {
		s.Latencies = append(s.Latencies, acks.lasted...)
		s.PerSecond = append(s.PerSecond, acks.rate(began))
	}
	return ctx.Err()
}

// open prepares a store.
func (s *series) open(o options, binary, dir string) ([]*process, store, error) {
	switch s.Store {
	case "ours":
		return openOurs(o, binary, dir)
	case "etcd":
		return openEtcd(o, binary, dir)
	case "hashicorp":
		return openHashicorp(o, binary, dir)
	}
	return nil, nil, fmt.Errorf("%q is none of ours, etcd, hashicorp", s.Store)
}

// happen has something happen to the leader.
func happen(ctx context.Context, event string, st store, leader *process) error {
	switch event {
	case "nothing", "flood":
		return nil
	case "kill":
		leader.end(syscall.SIGKILL)
		return nil
	case "stop":
		return leader.signal(syscall.SIGSTOP)
	case "restart":
		leader.end(syscall.SIGTERM)
		return leader.start()
	case "drain":
		n, err := awaitLeader(ctx, st)
		if err != nil {
			return err
		}
		return st.drain(ctx, n)
	}
	return fmt.Errorf("%q is none of nothing, flood, kill, stop, drain, restart", event)
}

func awaitLeader(ctx context.Context, st store) (int, error) {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		n, err := st.leader(wait)
		if err == nil {
			return n, nil
		}
		if !sleep(wait, 20*time.Millisecond) {
			return 0, fmt.Errorf("no leader: %w", err)
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

// acks are the moments at which writes were acknowledged.
type acks struct {
	mu     sync.Mutex
	at     []time.Time
	lasted []time.Duration
}

// write writes again and again. A write that fails is tried again at once.
func (a *acks) write(ctx context.Context, writer int, every time.Duration, write func(ctx context.Context, key, value []byte) error) {
	value := make([]byte, 100)
	next := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		if write(ctx, fmt.Appendf(nil, "%d-%d", writer, i%1000), value) == nil {
			now := time.Now()
			a.mu.Lock()
			a.at, a.lasted = append(a.at, now), append(a.lasted, now.Sub(began))
			a.mu.Unlock()
		}
		if next = next.Add(every); time.Until(next) > 0 {
			sleep(ctx, time.Until(next))
		} else if every > 0 {
			next = time.Now()
		}
	}
}

// awaitAfter waits until so many writes were acknowledged after now.
func (a *acks) awaitAfter(ctx context.Context, more int) error {
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for want := a.count() + more; a.count() < want; {
		if !sleep(wait, 10*time.Millisecond) {
			return fmt.Errorf("no write was acknowledged for a minute: %w", context.Cause(wait))
		}
	}
	return nil
}

func (a *acks) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at)
}

// longest is the longest time between two acknowledged writes of which the second is after a moment.
func (a *acks) longest(after time.Time) (longest time.Duration) {
	for i := 1; i < len(a.at); i++ {
		if a.at[i].After(after) {
			longest = max(longest, a.at[i].Sub(a.at[i-1]))
		}
	}
	return longest
}

// rate is how many writes were acknowledged in a second, after a moment.
func (a *acks) rate(after time.Time) float64 {
	n := 0
	for _, at := range a.at {
		if at.After(after) {
			n++
		}
	}
	return float64(n) / a.at[len(a.at)-1].Sub(after).Seconds()
}
