// The watchdogs: two processes that only enforce the deadline of a program, and end it with
// all processes that it has started. The node starts the outer one, the outer one starts the
// inner one, and the inner one starts the program:
//
//	node - outer watchdog - inner watchdog - /bin/sh -c COMMAND - ...
//
// Each watchdog is in a session of its own, so that signals from a terminal or to the node's
// process group do not reach it, and has another name than the node, so that killall does
// not. It ignores every signal that can be ignored.
//
// If any one of the three fails, or the node and one watchdog, a remaining watchdog ends the
// program:
//
//   - The node ends, or closes the pipe of orders: the outer one reads the end of the pipe.
//   - The node is stopped: the deadline passes, which both watchdogs know.
//   - The outer one ends, alone or with the node: the inner one reads the end of the pipe.
//   - The inner one ends, alone or with the node: the outer one notices, as its parent.
//   - One watchdog is stopped: the other one knows the deadline. Without a deadline the node
//     kills an outer one that does not obey.
//
// No process that the program starts can escape. A process whose parent has ended becomes a
// child of the inner watchdog, or of the outer one if the inner one has ended, because both
// are subreapers. So a watchdog without children has no descendants; until then it goes on
// killing those that it finds.

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchdogName is a watchdog's name in lists of processes.
const watchdogName = "exec-watchdog"

// Orders are lines. The outer watchdog passes them on to the inner one.
const (
	orderUntil  = "until "  // the deadline, in nanoseconds of the machine's monotonic clock; 0: none
	orderCgroup = "cgroup " // the directory of the program's control group, quoted; empty: none
	orderSocket = "socket " // the program's socket, quoted, to remove if the node cannot; empty: none
	orderRun    = "run "    // start the program: a shell command, quoted
	orderStop   = "stop"    // ask the program to end
)

// Reports are lines, too. The first one after reportReady says why the program has ended.
const (
	reportReady = "ready"  // both watchdogs wait for orders; always the first report
	reportEnded = "ended " // the main process; its run time in nanoseconds and its status follow
	reportLeft  = "left "  // after that; the number of processes that it has left behind, and that are killed now, follows
	reportLease = "killed: the lease has run out"
	reportNode  = "killed: there are no more orders"
	reportOther = "killed: the other watchdog is gone"
)

// reportsFD is the file descriptor that a watchdog writes reports to.
const reportsFD = 3

// leftoversGrace is the time from the end of a program's main process to SIGKILL for processes
// that it has left behind. All of them have got SIGTERM.
const leftoversGrace = time.Second

// watchdog is either watchdog. One goroutine does all its work. It alone waits for children,
// so that the id of a child that has ended cannot already belong to another process.
type watchdog struct {
	inner   bool
	reports *os.File
	cgroup  cgroup
	socket  string
	child   int      // the inner watchdog, or the program; 0: not started yet, or ended
	below   *os.File // orders for the inner watchdog; nil in the inner one
	started bool
	began   int64         // when the program was started
	asked   bool          // the program was asked to end
	until   int64         // the deadline; 0: none
	limit   int64         // when processes left behind by the program are killed; 0: never
	killing bool          // everything below is being killed
	again   time.Duration // until the next attempt at that
	search  func(of int) []process
}

// Watchdog runs the watchdog of a place. It returns when the program has ended with all
// processes that it has started, or will not be started.
func Watchdog(place string, orders *os.File) error {
	w := &watchdog{inner: place == InnerWatchdog, reports: os.NewFile(reportsFD, "reports"), search: descendants}
	syscall.CloseOnExec(reportsFD) // the inner watchdog gets it explicitly
	runtime.LockOSThread()         // because the death signal is sent when the thread that started the child ends
	defer runtime.UnlockOSThread()
	signal.Notify(make(chan os.Signal, 1)) // ignores all signals
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot be a subreaper: %w", err)
	}
	if err := os.WriteFile("/proc/self/comm", []byte(watchdogName), 0); err != nil {
		return fmt.Errorf("cannot set the name of the process: %w", err)
	}
	events, err := newEvents(orders)
	if err != nil {
		return err
	}
	defer events.close()
	if w.inner {
		w.report(reportReady)
	} else if err := w.startInner(); err != nil {
		return err
	}
	w.watch(events)
	return nil
}

// watch does the watchdog's work. It obeys all orders that have come before it checks the
// deadline, because if it had to wait for a processor, a later order may have moved it.
func (w *watchdog) watch(events *events) {
	for {
		orders, more := events.wait(w.sleeps())
		w.obeyAll(orders)
		if !more {
			w.kill(w.orphaned())
		}
		w.checkDeadlines()
		if !w.reap() && (w.started || w.killing) {
			w.cgroup.remove()
			if w.socket != "" {
				_ = removeSocket(w.socket) // the node or the other watchdog may have done it
			}
			return
		}
		if w.killing {
			w.strike()
		}
	}
}

// orphaned returns the meaning of the end of orders.
func (w *watchdog) orphaned() string {
	if w.inner {
		return reportOther
	}
	return reportNode
}

// obeyAll obeys orders that have come together. Only the last deadline among them counts, so
// the others are not even passed on.
func (w *watchdog) obeyAll(orders []string) {
	last := ""
	for _, order := range orders {
		if strings.HasPrefix(order, orderUntil) {
			last = order
		}
	}
	for _, order := range orders {
		if order == last || !strings.HasPrefix(order, orderUntil) {
			w.obey(order)
		}
	}
}

// obey passes an order on and obeys it. An unknown order is treated as the end of orders.
func (w *watchdog) obey(order string) {
	if err := w.passOn(order); err != nil {
		w.kill(reportOther)
		return
	}
	var err error
	if rest, ok := strings.CutPrefix(order, orderUntil); ok {
		w.until, err = strconv.ParseInt(rest, 10, 64)
	} else if rest, ok := strings.CutPrefix(order, orderCgroup); ok {
		var dir string
		dir, err = strconv.Unquote(rest)
		w.cgroup = cgroup(dir)
	} else if rest, ok := strings.CutPrefix(order, orderSocket); ok {
		w.socket, err = strconv.Unquote(rest)
	} else if rest, ok := strings.CutPrefix(order, orderRun); ok {
		var command string
		if command, err = strconv.Unquote(rest); err == nil && w.inner {
			err = w.startProgram(command)
		}
	} else if order == orderStop {
		w.ask()
	} else {
		err = errors.New("unknown order")
	}
	if err != nil {
		w.report(reportEnded + "0 " + err.Error())
		w.kill(reportNode)
	}
}

// passOn passes an order on to the inner watchdog. After orderRun it never blocks, because
// an inner watchdog that has let the pipe fill up must have been stopped.
func (w *watchdog) passOn(order string) error {
	if w.below == nil {
		return nil
	}
	line := []byte(order + "\n")
	if strings.HasPrefix(order, orderRun) { // which may be longer than the pipe
		_, err := w.below.Write(line)
		return err
	}
	pipe, err := w.below.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = pipe.Write(func(fd uintptr) bool {
		_, failed = syscall.Write(int(fd), line) // a write this short is atomic
		return true
	})
	return errors.Join(err, failed)
}

func (w *watchdog) startInner() error {
	orders, below, err := os.Pipe()
	if err != nil {
		return err
	}
	inner := watchdogProcess(InnerWatchdog, orders, w.reports)
	inner.Stdout, inner.Stderr = os.Stdout, os.Stderr
	if err := errors.Join(inner.Start(), orders.Close()); err != nil {
		return errors.Join(err, below.Close())
	}
	w.below, w.child, w.started = below, inner.Process.Pid, true
	return nil
}

// startProgram starts the program, unless its time is up. The kernel kills the program when
// this thread ends, even if no watchdog is left, but not the processes that it has started.
func (w *watchdog) startProgram(command string) error {
	w.checkDeadlines()
	if w.killing || w.started {
		return nil
	}
	in := w.cgroup.open()
	program := programProcess(command, in)
	err := program.Start()
	if err != nil && in != nil { // perhaps no process may be started in the control group
		program = programProcess(command, nil)
		err = program.Start()
	}
	if in != nil {
		_ = in.Close()
	}
	if err != nil {
		return err
	}
	w.child, w.started, w.began = program.Process.Pid, true, monotonic()
	return nil
}

func programProcess(command string, in *os.File) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if in != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(in.Fd())
	}
	return cmd
}

// reap collects the children that have ended, and reports whether any is left.
func (w *watchdog) reap() (left bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // there are none
			return false
		case pid == 0:
			return true
		case pid == w.child:
			w.child = 0
			w.childEnded(status)
		}
	}
}

// childEnded handles the end of the program, or, in the outer watchdog, of the inner one.
func (w *watchdog) childEnded(status syscall.WaitStatus) {
	if !w.inner {
		w.kill(reportOther)
		return
	}
	w.report(fmt.Sprintf("%s%d %s", reportEnded, monotonic()-w.began, describe(status)))
	if !w.asked {
		w.signal(syscall.SIGTERM)
	}
	w.limit = monotonic() + int64(leftoversGrace)
}

// describe returns how a process has ended, in the words of package os.
func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// ask asks the program, and all processes that it has started, to end.
func (w *watchdog) ask() {
	if w.inner {
		w.asked = true
		w.signal(syscall.SIGTERM)
	}
}

// checkDeadlines ends the program if its time is up.
func (w *watchdog) checkDeadlines() {
	now := monotonic()
	if w.until != 0 && now >= w.until {
		w.kill(reportLease)
	}
	if w.limit != 0 && now >= w.limit && !w.killing {
		w.countLeft()
		w.kill(reportNode) // the reason does not matter, because the program has already ended
	}
}

// countLeft reports how many processes the main process has left behind.
func (w *watchdog) countLeft() {
	left := 0
	for _, p := range w.search(os.Getpid()) {
		if !p.ended {
			left++
		}
	}
	if left > 0 {
		w.report(reportLeft + strconv.Itoa(left))
	}
}

// sleeps returns how long there is nothing to do without an event.
func (w *watchdog) sleeps() time.Duration {
	if w.killing {
		return w.again
	}
	wait := left(w.until)
	if w.limit != 0 {
		wait = min(wait, left(w.limit))
	}
	return wait
}

// left returns the time until a deadline.
func left(until int64) time.Duration {
	if until == 0 {
		return time.Hour
	}
	return max(0, time.Duration(until-monotonic()))
}

// kill begins to kill everything below.
func (w *watchdog) kill(why string) {
	if !w.killing {
		w.killing, w.again = true, time.Millisecond
		w.report(why)
	}
}

// strike kills all descendants that it finds. Those that start meanwhile are found the next
// time, when a child has ended or after a wait. It kills those that it finds fast before it
// looks at all processes of the machine, because on a busy machine that takes longer than the
// next leader waits.
func (w *watchdog) strike() {
	w.cgroup.kill()
	known := lineage(os.Getpid())
	if w.inner && w.child != 0 {
		_ = syscall.Kill(-w.child, syscall.SIGKILL)
	}
	for _, id := range known {
		_ = syscall.Kill(id, syscall.SIGKILL) // it may have ended just now
	}
	w.signal(syscall.SIGKILL)
	w.again = min(2*w.again, time.Second)
}

// signal sends a signal to all descendants, once to each. Those in the child's process group
// get it at one instant, so that none of them can start another process in between.
func (w *watchdog) signal(s syscall.Signal) {
	all := w.search(os.Getpid())
	if w.child != 0 {
		_ = syscall.Kill(-w.child, s)
	}
	for _, p := range all {
		if w.child == 0 || p.group != w.child {
			_ = syscall.Kill(p.id, s) // it may have ended just now
		}
	}
}

func (w *watchdog) report(what string) { _, _ = fmt.Fprintln(w.reports, what) }
