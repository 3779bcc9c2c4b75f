// The watchdogs: two processes that do nothing but hold the deadline of a program, and
// end it with all that it has started. The node starts the outer one, that starts the
// inner one, and that the program:
//
//	node - outer watchdog - inner watchdog - /bin/sh -c COMMAND - ...
//
// Each of the two is in a session of its own, so that signals from a terminal or to the
// node's process group do not reach it, and has another name than the node, so that
// killall does not. It handles every signal that can be handled by doing nothing.
//
// Whatever happens to one of the node and the two, or to the node and one of the two,
// another one ends the program:
//
//   - The node ends, or closes the pipe of orders: the outer one reads their end.
//   - The node is stopped: the deadline passes, which both watchdogs know.
//   - The outer one ends, alone or with the node: the inner one reads the end of orders.
//   - The inner one ends, alone or with the node: the outer one is its parent.
//   - One of the two is stopped: the other one knows the deadline. Without a deadline the
//     node kills an outer one that does not do what it is told.
//
// Nothing that the program starts can get away from them. A process whose parent has ended
// becomes the child of the inner watchdog, or of the outer one if the inner one has ended,
// since both are subreapers; so a watchdog without children has no descendants. Until
// then it goes on killing those it finds.

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

// watchdogName is what a watchdog is called in lists of processes.
const watchdogName = "exec-watchdog"

// Orders are lines. The outer watchdog passes them on to the inner one.
const (
	orderUntil  = "until "  // the deadline, in nanoseconds of the machine's monotonic clock; 0: none
	orderCgroup = "cgroup " // the directory of the program's control group, quoted; empty: none
	orderRun    = "run "    // start the program: a shell command, quoted
	orderStop   = "stop"    // ask the program to end
)

// Reports are lines, too. The first one but for reportReady says why the program has ended.
const (
	reportReady = "ready"  // for orders, both watchdogs; comes before all others
	reportEnded = "ended " // by itself; for how long it ran, in nanoseconds, and its status follow
	reportLease = "killed: the lease has run out"
	reportNode  = "killed: there are no more orders"
	reportOther = "killed: the other watchdog is gone"
)

// reportsFD is where a watchdog reports to.
const reportsFD = 3

// leftoversGrace is how long those have that a program has left behind when it ended by
// itself, from SIGTERM to SIGKILL.
const leftoversGrace = time.Second

// watchdog is either watchdog. One goroutine does all of its work; nothing but it waits
// for children, so that the id of a child that has ended is not another's yet.
type watchdog struct {
	inner   bool
	reports *os.File
	cgroup  cgroup
	child   int      // the inner watchdog, or the program; 0: not started yet, or ended
	below   *os.File // orders for the inner watchdog; nil: this is it
	started bool
	began   int64         // when the program was started
	asked   bool          // the program was asked to end
	until   int64         // the deadline; 0: none
	limit   int64         // when those are killed that a program has left behind; 0: never
	killing bool          // everything below is to end
	again   time.Duration // until that is tried again
	search  func(of int) []process
}

// Watchdog is the watchdog of a place. It returns when the program has ended with all that it
// has started, or will not be started.
func Watchdog(place string, orders *os.File) error {
	w := &watchdog{inner: place == InnerWatchdog, reports: os.NewFile(reportsFD, "reports"), search: descendants}
	syscall.CloseOnExec(reportsFD) // for nobody but the inner watchdog
	runtime.LockOSThread()         // the death signal comes when the thread ends that made the child
	defer runtime.UnlockOSThread()
	signal.Notify(make(chan os.Signal, 1)) // and nobody listens
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot be a subreaper: %w", err)
	}
	if err := os.WriteFile("/proc/self/comm", []byte(watchdogName), 0); err != nil {
		return fmt.Errorf("cannot take a name of its own: %w", err)
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

// watch does the watchdog's work. It obeys all orders that have come before it looks at the
// deadline: where it had to wait for a processor, a later one may have moved that.
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
			return
		}
		if w.killing {
			w.strike()
		}
	}
}

// orphaned is what the end of orders means.
func (w *watchdog) orphaned() string {
	if w.inner {
		return reportOther
	}
	return reportNode
}

// obeyAll obeys orders that have come together. Of the deadlines among them the last one
// holds, so the others are not even passed on.
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

// obey does what an order says, and passes it on. What is no order is the end of orders.
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

// passOn passes an order on to the inner watchdog. Once there is a program it never waits:
// an inner watchdog that has let the pipe fill up is stopped.
func (w *watchdog) passOn(order string) error {
	if w.below == nil {
		return nil
	}
	line := []byte(order + "\n")
	if strings.HasPrefix(order, orderRun) { // it may be long
		_, err := w.below.Write(line)
		return err
	}
	pipe, err := w.below.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = pipe.Write(func(fd uintptr) bool {
		_, failed = syscall.Write(int(fd), line) // all or nothing, as short as it is
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

// startProgram starts the program, unless its time is up. It dies with this thread even
// if nobody is left to see to that; what it has started does not.
func (w *watchdog) startProgram(command string) error {
	w.checkDeadlines()
	if w.killing || w.started {
		return nil
	}
	in := w.cgroup.open()
	program := programProcess(command, in)
	err := program.Start()
	if err != nil && in != nil { // where no process may be put into it
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

// reap takes note of the children that have ended, and says whether any is left.
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

// childEnded: the program has ended, or, for the outer watchdog, the inner one.
func (w *watchdog) childEnded(status syscall.WaitStatus) {
	if !w.inner {
		w.kill(reportOther)
		return
	}
	w.report(fmt.Sprintf("%s%d %s", reportEnded, monotonic()-w.began, describe(status)))
	if !w.asked {
		w.signal(syscall.SIGTERM)
		w.limit = monotonic() + int64(leftoversGrace)
	}
}

// describe says how a process has ended, in the words of package os.
func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// ask asks the program to end, and all that it has started.
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
	if w.limit != 0 && now >= w.limit {
		w.kill(reportNode) // nobody reads this: it has ended before
	}
}

// sleeps is how long there is nothing to do, unless something happens.
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

// left is how long it is until a deadline.
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

// strike kills all that can be found. What is begun at the same time is found the next
// time, which comes when something has ended, or after a wait. It kills what it finds soon
// before it looks at every process of the machine: on one that is busy that takes longer than
// the next leader waits.
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

// signal sends a signal to all descendants, each once. Those in the group of the child get
// it at one instant: whoever of them is just starting another one gets it before that.
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
