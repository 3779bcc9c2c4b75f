// The socket over which a program vouches for itself, with the protocol that systemd's services
// speak (sd_notify): a message is one datagram. The socket is in a directory that only this node's
// user can enter. Every run of the program has a socket of its own, so that nothing that an earlier
// one said is taken for its word.

package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// longestMessage is how long a message may be, as with systemd. A longer one is ignored.
const longestMessage = 4096

// listener is the socket of a program that runs; nil: it has none.
type listener struct {
	dir    string
	counts time.Duration // how long a word counts
	conn   *net.UnixConn
	ended  chan struct{}
}

// open prepares for a program, and returns its socket, and the function to call when it has ended.
func (a *ability) open(term memberstate.Term) (l *listener, ended func(), err error) {
	if a == nil {
		return nil, func() {}, nil
	}
	v := a.begins(term)
	if !a.notify {
		return nil, a.ends, nil
	}
	if l, err = a.listen(v); err != nil {
		a.ends()
		return nil, nil, fmt.Errorf("cannot make the socket of --notify: %w", err)
	}
	return l, func() { l.close(); a.ends() }, nil
}

// listen opens the socket for a program.
func (a *ability) listen(v *voice) (l *listener, err error) {
	l = &listener{counts: a.counts, ended: make(chan struct{})}
	if l.dir, err = os.MkdirTemp("", "hustings-notify-"); err != nil {
		return nil, err
	}
	l.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: l.path(), Net: "unixgram"})
	if err != nil {
		return nil, errors.Join(err, os.Remove(l.dir))
	}
	go l.read(func(message string) { a.hears(v, message) })
	return l, nil
}

// path is that of the socket; empty if there is none.
func (l *listener) path() string {
	if l == nil {
		return ""
	}
	return filepath.Join(l.dir, "socket")
}

// read reads messages until the socket is closed. Files that come with a message are closed by the
// kernel, because nothing here takes them.
func (l *listener) read(hears func(string)) {
	defer close(l.ended)
	buffer := make([]byte, longestMessage)
	for {
		n, _, flags, _, err := l.conn.ReadMsgUnix(buffer, nil)
		if err != nil {
			return
		}
		if flags&syscall.MSG_TRUNC == 0 {
			hears(string(buffer[:n]))
		}
	}
}

// close closes the socket and removes it.
func (l *listener) close() {
	_ = l.conn.Close() // the end of read is all that matters
	<-l.ended
	_ = removeSocket(l.path()) // a watchdog may have done it
}

// removeSocket removes a socket with its directory.
func removeSocket(path string) error {
	return errors.Join(os.Remove(path), os.Remove(filepath.Dir(path)))
}

// environment adds the variables for a program to those of this node. WATCHDOG_PID would name the
// only process that may speak. It is left out, because a shell may start the program as a child.
func (l *listener) environment(own []string) []string {
	own = withoutNotify(own)
	if l == nil {
		return own
	}
	return append(own, socketVariable+l.path(), fmt.Sprint(periodVariable, l.counts.Microseconds()))
}
