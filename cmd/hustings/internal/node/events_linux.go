// What a watchdog waits for: orders, the end of a child, and the deadline. It waits for all
// of them in one system call, so that one thread needs a processor when the deadline comes,
// and not three in turn. It has no higher priority than others. One thread with real-time
// priority might keep others of the same process from running while it waits for them, as
// Go's runtime does in loops; whether it ever would was not tried.

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

// events are those that a watchdog waits for, beside its deadline.
type events struct {
	orders *os.File // nil: they have ended
	rest   string   // of an order whose end was not there yet
	buffer []byte

	signals     chan os.Signal
	ended, wake *os.File // a pipe that holds something when a child has ended
}

// pipeSize is what a pipe holds: one read takes all that has come.
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

// wait waits until something has come, or for so long, and returns the orders that have come:
// lines, of which one that is cut short is none. There are no more when nobody is left to
// give any, which it says once.
func (e *events) wait(long time.Duration) (orders []string, more bool) {
	const ended, ordered = 0, 1
	ready := []unix.PollFd{ended: {Fd: int32(e.ended.Fd()), Events: unix.POLLIN}}
	if e.orders != nil {
		ready = append(ready, unix.PollFd{Fd: int32(e.orders.Fd()), Events: unix.POLLIN})
	}
	timeout := unix.NsecToTimespec(int64(long))
	if n, err := unix.Ppoll(ready, &timeout, nil); n <= 0 || err != nil { // a signal has come, or the time
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

// read reads what is there. It is an error if nothing will come any more.
func (e *events) read(from *os.File) (string, error) {
	n, err := from.Read(e.buffer)
	return string(e.buffer[:n]), err
}
