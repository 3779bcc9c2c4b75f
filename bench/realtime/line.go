// The lines between members: a small TCP proxy from each to each, the same for both
// sides, that can fall silent or break.

package realtime

import (
	"errors"
	"io"
	"net"
	"sync"
)

// town has a line from each of its nodes to each other.
type town struct {
	listens map[string]string // where each node does
	lines   map[way]*line
}

// way is from one node to another.
type way struct{ from, to string }

// newTown lays the lines to where the nodes listen.
func newTown(addresses map[string]string) (*town, error) {
	t := &town{addresses, make(map[way]*line)}
	for from := range addresses {
		for to, target := range addresses {
			if from == to {
				continue
			}
			l, err := newLine(target)
			if err != nil {
				return nil, errors.Join(err, t.close())
			}
			t.lines[way{from, to}] = l
		}
	}
	return t, nil
}

// address is where a node finds another one, or itself.
func (t *town) address(from, to string) string {
	if from == to {
		return t.listens[to]
	}
	return t.lines[way{from, to}].listener.Addr().String()
}

// mute has a node fall silent: connections stay, but nothing gets in or out.
func (t *town) mute(node string) {
	for w, l := range t.lines {
		if w.from == node || w.to == node {
			l.hold()
		}
	}
}

// kill breaks all connections of a node at once, and has new ones refused.
func (t *town) kill(node string) error {
	var problems []error
	for w, l := range t.lines {
		if w.from == node || w.to == node {
			problems = append(problems, l.sever())
		}
	}
	return errors.Join(problems...)
}

// close ends all lines.
func (t *town) close() error {
	var problems []error
	for _, l := range t.lines {
		problems = append(problems, l.sever())
		l.running.Wait()
	}
	return errors.Join(problems...)
}

// line carries connections one way; what is said over them goes both ways.
type line struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	moved  *sync.Cond
	silent bool
	broken bool
	open   map[net.Conn]bool
}

func newLine(target string) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, target: target, open: make(map[net.Conn]bool)}
	l.moved = sync.NewCond(&l.mu)
	l.running.Go(l.accept)
	return l, nil
}

func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

// sever resets connections, as the system does for a process that was killed.
func (l *line) sever() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return nil
	}
	l.broken = true
	l.moved.Broadcast()
	for c := range l.open {
		reset(c)
	}
	return l.listener.Close()
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0) // it is over, one way or the other
	_ = c.Close()
}

func (l *line) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.join(in) })
	}
}

// join connects a caller with the target.
func (l *line) join(in net.Conn) {
	out, err := net.Dial("tcp", l.target)
	if err != nil {
		reset(in)
		return
	}
	defer l.forget(in, out)
	if !l.remember(in, out) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(in, out) })
	both.Go(func() { l.carry(out, in) })
	both.Wait()
}

func (l *line) remember(in, out net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[in], l.open[out] = true, true
	return !l.broken
}

func (l *line) forget(in, out net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, in)
	delete(l.open, out)
	reset(in)
	reset(out)
}

// carry copies until either end is gone, and then breaks the other.
func (l *line) carry(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	_, _ = io.Copy(gate{l, to}, struct{ io.Reader }{from}) // by way of the gate
}

// gate is the far end of a line, which nothing passes while it is silent.
type gate struct {
	line *line
	net.Conn
}

func (g gate) Write(b []byte) (int, error) {
	g.line.mu.Lock()
	for g.line.silent && !g.line.broken {
		g.line.moved.Wait()
	}
	g.line.mu.Unlock()
	return g.Conn.Write(b)
}
