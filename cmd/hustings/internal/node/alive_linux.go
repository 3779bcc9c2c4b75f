// The command of --alive, whose exit status says whether this node is able to lead. It runs again and
// again, one at a time, and is killed with its process group when it takes longer than a word counts.
// A disk that hangs may keep even a killed process from ending. Then it is waited for before the command
// runs again, so that such processes do not pile up.

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// asksWithin is how often the command runs in the time for which its word counts.
const asksWithin = 4

// check runs the command until the context ends.
func (a *ability) check(ctx context.Context, environment func(term string) []string) {
	for {
		about := a.asks()
		answer := make(chan error, 1)
		go func() { answer <- a.ask(ctx, environment(about.inTerm())) }()
		select {
		case err := <-answer:
			a.answers(about, err)
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(a.counts / asksWithin):
		case <-a.changed:
		case <-ctx.Done():
			return
		}
	}
}

// ask runs the command once.
func (a *ability) ask(ctx context.Context, environment []string) error {
	runtime.LockOSThread() // because the death signal is sent when the thread that started the child ends
	defer runtime.UnlockOSThread()
	brief, cancel := context.WithTimeout(ctx, a.counts)
	defer cancel()
	var said beginning
	cmd := exec.CommandContext(brief, "/bin/sh", "-c", a.command)
	cmd.Env = append(withoutNotify(os.Environ()), environment...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stubborn // for processes that it has left behind, which hold its output
	err := cmd.Run()
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case brief.Err() != nil:
		if cmd.Process != nil {
			awaitGroup(ctx, cmd.Process.Pid)
		}
		return fmt.Errorf("it has not ended within %v: %w", a.counts, err)
	case len(said.text) > 0:
		return fmt.Errorf("%w: %q", err, said.text)
	}
	return err
}

// awaitGroup waits until all processes of a group that was killed have ended, or the context has.
func awaitGroup(ctx context.Context, group int) {
	for wait := 10 * time.Millisecond; runs(group); wait = min(2*wait, time.Second) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// runs says whether a process of a group has not ended.
func runs(group int) bool {
	return slices.ContainsFunc(processes(), func(p process) bool { return p.group == group && !p.ended })
}

// beginning keeps the beginning of an output.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 200
	b.text = append(b.text, p[:min(len(p), most-len(b.text))]...)
	return len(p), nil
}
