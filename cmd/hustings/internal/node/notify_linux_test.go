// The socket over which a program vouches for itself.

package node

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notified is the ability of a node whose program has to speak for itself.
func notified() *ability {
	return newAbility(&Config{Notify: true, Vouch: 7 * time.Second}, slog.New(slog.DiscardHandler))
}

// opened returns the socket of a program and its environment, and closes it at the end.
func opened(t *testing.T, a *ability, own ...string) (v *voice, socket string, environment []string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	l, ended, err := a.open(3)
	require.NoError(t, err)
	t.Cleanup(func() {
		ended()
		assert.NoDirExists(t, filepath.Dir(socket))
		assert.Nil(t, a.voice)
	})
	return a.voice, l.path(), l.environment(own)
}

// says sends a message as a program does.
func says(t *testing.T, socket, message string) {
	t.Helper()
	c, err := net.Dial("unixgram", socket)
	require.NoError(t, err)
	_, err = c.Write([]byte(message))
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// A program gets what systemd would give it, except for what systemd has given this node.
func TestAProgramGetsASocketAndAPeriod(t *testing.T) {
	a := notified()
	v, socket, environment := opened(t, a, "HOME=/root", "NOTIFY_SOCKET=/run/systemd/notify", "WATCHDOG_PID=1", "WATCHDOG_USEC=30000000", "X=1")
	assert.Equal(t, []string{"HOME=/root", "X=1", "NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=7000000"}, environment)
	assert.EqualValues(t, 3, v.term)
	about, err := os.Stat(filepath.Dir(socket))
	require.NoError(t, err)
	assert.Equal(t, fs.ModeDir|0o700, about.Mode(), "only this user can reach the socket")

	var without *ability
	own := []string{"HOME=/root", "NOTIFY_SOCKET=/run/systemd/notify", "WATCHDOG_PID=1", "WATCHDOG_USEC=30000000"}
	none, ended, err := without.open(3)
	require.NoError(t, err)
	ended()
	assert.Equal(t, own[:1], none.environment(own), "what the node was told is not for its program")
	alive := commanding("true", long)
	none, ended, err = alive.open(3)
	require.NoError(t, err)
	assert.EqualValues(t, 3, alive.voice.term)
	ended()
	assert.Equal(t, own[:1], none.environment(own), "it need not speak")
	assert.Nil(t, alive.voice)
}

// Messages that are malformed or too long, and files that come with them, do no harm.
func TestStrayMessagesDoNoHarm(t *testing.T) {
	a := notified()
	v, socket, _ := opened(t, a)
	spoke := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return v.spoke
	}
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(all)
	}
	before := open()
	for _, stray := range []string{
		"", "\n\n\n", "\x00", "=", "WATCHDOG", "WATCHDOG=", "WATCHDOG=10", " WATCHDOG=1", "watchdog=1", "READY=0", "WATCHDOG=1\x00",
		"X=" + strings.Repeat("x", longestMessage) + "\nWATCHDOG=trigger", "WATCHDOG=trigger\n" + strings.Repeat("x", longestMessage),
		strings.Repeat("\n", longestMessage), strings.Repeat("\xff", longestMessage),
	} {
		says(t, socket, stray)
	}
	withFile(t, socket)
	says(t, socket, "STATUS=busy\nWATCHDOG_USEC=9000000")
	require.Eventually(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return v.counts == 9*time.Second }, long, time.Millisecond)
	assert.False(t, spoke())
	require.NoError(t, a.healthy(t.Context()))
	assert.Equal(t, before, open(), "the file was closed")
	says(t, socket, strings.Repeat("x", longestMessage-len("\nWATCHDOG=1"))+"\nWATCHDOG=1")
	require.Eventually(t, spoke, long, time.Millisecond)
	says(t, socket, "WATCHDOG=trigger")
	require.Eventually(t, func() bool { return a.healthy(t.Context()) != nil }, long, time.Millisecond)
}

// withFile sends a file, as programs do that ask systemd to keep it.
func withFile(t *testing.T, socket string) {
	t.Helper()
	from, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Sendmsg(from, []byte("FDSTORE=1"), syscall.UnixRights(from), &syscall.SockaddrUnix{Name: socket}, 0))
	require.NoError(t, syscall.Close(from))
}

// An earlier run's socket is not that of the next one.
func TestEveryRunHasASocketOfItsOwn(t *testing.T) {
	a := notified()
	_, first, _ := opened(t, a)
	_, second, _ := opened(t, a)
	assert.NotEqual(t, first, second)
}

// The program gets the socket, which is there while it runs, and a node that cannot make it stands back.
func TestTheProgramIsStartedWithItsSocket(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("WATCHDOG_PID", "1")
	said := filepath.Join(t.TempDir(), "said")
	p := &program{every: time.Millisecond, ability: notified(), command: fmt.Sprintf(
		`[ -S "$NOTIFY_SOCKET" ] && echo "$WATCHDOG_USEC ${WATCHDOG_PID-none} $HUSTINGS_TERM $HOME $NOTIFY_SOCKET" > %[1]s.new
mv %[1]s.new %[1]s; while [ -e %[1]s ]; do sleep 0.01; done; exit 3`, said)}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context(), 3, []string{"HUSTINGS_TERM=3"}, noLease) }()
	require.Eventually(t, func() bool { return file(said) != "" }, long, time.Millisecond)
	p.mu.Lock()
	socket := p.running.socket
	p.mu.Unlock()
	assert.Equal(t, "7000000 none 3 "+os.Getenv("HOME")+" "+socket+"\n", file(said))
	require.NoError(t, os.Remove(said))
	require.ErrorContains(t, <-ended, "exit status 3")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	for name, why := range map[string]string{filepath.Join(dir, "none"): "no such file", dir + "/" + strings.Repeat("x", 100): "invalid argument"} {
		p.standby = standby{}
		t.Setenv("TMPDIR", name)
		if why == "invalid argument" {
			require.NoError(t, os.Mkdir(name, 0o700))
		}
		err := p.run(t.Context(), 3, nil, noLease)
		require.ErrorContains(t, err, "cannot make the socket of --notify")
		require.ErrorContains(t, err, why)
		assert.Equal(t, 1, p.standby.failures)
		assert.Nil(t, p.ability.voice)
		left, _ := os.ReadDir(name)
		assert.Empty(t, left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.standby = standby{}
	require.Error(t, p.run(ctx, 3, nil, noLease))
	assert.Zero(t, p.standby.failures, "the office had ended before")
}

// A program that is asked to end is excused while it is waited for, and no longer.
func TestAProgramIsExcusedWhileItIsWaitedFor(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		p, _ := serving(t, stubborn)
		p.mu.Lock() // after the program was started, as the race detector sees it
		p.ability = notified()
		p.mu.Unlock()
		v := p.ability.begins(3)
		ctx, cancel := context.WithCancel(t.Context())
		if stubborn {
			go func() {
				for excused := false; !excused; {
					p.ability.mu.Lock()
					excused = v.ending
					p.ability.mu.Unlock()
				}
				cancel()
			}()
		}
		err := p.pause(ctx, 3)
		cancel()
		if stubborn {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			require.NoError(t, err)
		}
		assert.Equal(t, !stubborn, v.ending)
	}
}

// A program that hangs is killed in time for the handover, which can then go on.
func TestAProgramThatHangsIsKilledForAHandover(t *testing.T) {
	p, there := serving(t, true)
	p.mu.Lock() // after the program was started, as the race detector sees it
	p.ability = notified()
	p.mu.Unlock()
	n := &node{member: member{program: p, ability: p.ability, out: NewPrinter(io.Discard, true)}}
	v := p.ability.begins(3)
	p.ability.hears(v, "WATCHDOG=trigger")
	require.Error(t, p.ability.healthy(t.Context()))
	require.NoError(t, n.pause(t.Context(), 3))
	assert.True(t, p.pausedIn(3))
	var id int
	_, err := fmt.Sscan(file(there), &id)
	require.NoError(t, err)
	assert.True(t, gone(id))

	p, there = serving(t, false)
	p.mu.Lock()
	p.ability = n.ability
	p.mu.Unlock()
	n = &node{member: member{program: p, ability: p.ability, out: NewPrinter(io.Discard, true)}, detection: 2 * long}
	require.NoError(t, n.pause(t.Context(), 3))
	assert.NoFileExists(t, there, "it was asked, and has ended by itself")
}
