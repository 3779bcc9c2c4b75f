// The events of a watchdog: orders, the end of a child, and the deadline. It waits for all of
// them in one system call, so that only one thread needs a processor when the deadline comes,
// and not three in turn. It has normal priority. A thread with real-time priority might keep
// other threads of its process from running while it waits for them, as Go's runtime does in
// loops; whether that happens was not tried.

package node

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// events are the events that a watchdog waits for, besides its deadline.
type events struct {
	orders *os.File // nil: the orders have ended
	rest   string   // the beginning of an order that is not complete yet
	buffer []byte

	signals     chan os.Signal
	ended, wake *os.File // a pipe; readable when a child has ended
}

// pipeSize is the capacity of a pipe, so that one read empties it.
const pipeSize = 64 << 10

func newEvents(orders *os.File) (*events, error) {
	ended, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	e := &events{orders: orders, buffer: make([]byte, pipeSize), signals: make(chan os.Signal, 1), ended: ended, wake: wake}
	signal.Notify(e.signals, syscall.SIGCHLD)
	go func() {
		for range e.signals {
			_, _ = e.wake.Write([]byte{0})
		}
	}()
	return e, nil
}

func (e *events) close() {
	signal.Stop(e.signals)
	close(e.signals)
	_ = errors.Join(e.ended.Close(), e.wake.Close())
}

// wait waits for an event, at most for long, and returns the complete orders that have come.
// more is false, once, when the other end of the pipe is closed.
func (e *events) wait(long time.Duration) (orders []string, more bool) {
	const ended, ordered = 0, 1
	ready := []unix.PollFd{ended: {Fd: int32(e.ended.Fd()), Events: unix.POLLIN}}
	if e.orders != nil {
		ready = append(ready, unix.PollFd{Fd: int32(e.orders.Fd()), Events: unix.POLLIN})
	}
	timeout := unix.NsecToTimespec(int64(long))
	if n, err := unix.Ppoll(ready, &timeout, nil); n <= 0 || err != nil { // interrupted by a signal, or timed out
		return nil, true
	}
	if ready[ended].Revents != 0 {
		_, _ = e.read(e.ended)
	}
	if e.orders == nil || ready[ordered].Revents == 0 {
		return nil, true
	}
	text, err := e.read(e.orders)
	if err != nil {
		e.orders = nil
		return nil, false
	}
	lines := strings.Split(e.rest+text, "\n")
	last := len(lines) - 1
	e.rest = lines[last]
	return lines[:last], true
}

// read reads all that is in the pipe. It returns an error at its end.
func (e *events) read(from *os.File) (string, error) {
	n, err := from.Read(e.buffer)
	return string(e.buffer[:n]), err
}
