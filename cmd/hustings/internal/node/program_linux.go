// The node's side of the watchdogs: it starts them, sends them the deadline, and reads from
// them how the program has ended.

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// watched is a running program under its watchdogs.
type watched struct {
	outer  *exec.Cmd
	cgroup cgroup     // that of the program
	socket string     // by which the program vouches for itself; empty: none
	mu     sync.Mutex // serializes orders
	orders *os.File
	until  int64         // the end of the lease that the watchdogs got last
	asked  atomic.Bool   // the program was asked to end
	ready  chan struct{} // closed when both watchdogs wait for orders
	told   chan struct{} // closed when the watchdogs report the end of the program, or are gone
	report string        // their first report of the end; read it once told is closed
	ended  chan struct{} // closed when both watchdogs, and so the program, have ended
	leaves func(string)  // called when they kill what the main process has left behind, with the number of processes
}

// run runs the program for an office until it ends, or the context does. In the latter case
// the program is killed; a graceful one is first asked to end, and killed when the lease ends.
// run returns an error if the program ends without having been asked to.
func (p *program) run(ctx context.Context, term memberstate.Term, environment []string, lease func() (int64, bool)) error {
	socket, ended, err := p.ability.open(term)
	if err != nil {
		p.note(0, ctx.Err() == nil)
		return err
	}
	defer ended()
	w, err := startWatchdogs(socket.environment(append(os.Environ(), environment...)), func(left string) {
		p.log.Warn("the main process of the program has ended, and others of its processes are still there; they are killed",
			"term", uint64(term), "processes", left)
	})
	if err != nil {
		p.note(0, ctx.Err() == nil)
		return err
	}
	w.socket = socket.path()
	p.set(w) // before the program is started, so that pause finds it
	defer p.set(nil)
	if err := p.start(ctx, w, term, lease); err != nil {
		w.cut()
		<-w.ended
		if errors.Is(err, errAsked) {
			return nil
		}
		return err
	}
	return p.attend(ctx, w, lease)
}

// attend attends to a program that runs, until all its processes have ended. Until then, whether
// the program was asked to end or not, and whether its main process has ended or not, its
// deadline follows the lease, and the end of the office ends it. Nothing else moves the
// deadline or bounds the wait for a program that was asked, because its node may lead on.
//
// Once the main process has ended, the watchdogs kill the others a second later. If they do not,
// they are told that there are no more orders.
func (p *program) attend(ctx context.Context, w *watched, lease func() (int64, bool)) error {
	began := time.Now()
	again := time.NewTicker(p.every)
	defer again.Stop()
	told := w.told
	var overdue <-chan time.Time
	for {
		select {
		case <-w.ended:
			ran, byItself, err := w.why(time.Since(began))
			p.note(ran, byItself)
			return err
		case <-ctx.Done():
			w.finish(p.graceful)
			p.note(time.Since(began), false)
			return ctx.Err()
		case <-told:
			told, overdue = nil, time.After(leftoversGrace+stubborn)
		case <-overdue:
			w.finish(false)
		case <-again.C:
			if end, ok := lease(); ok && w.extend(end) != nil {
				w.cut()
			}
		}
	}
}

// start makes the watchdogs start the program. It asks for the end of the lease only when they
// are ready, because on a busy machine their start takes long. It returns an error if the
// program must not be started.
func (p *program) start(ctx context.Context, w *watched, term memberstate.Term, lease func() (int64, bool)) error {
	select {
	case <-w.ready:
	case <-w.told: // they are gone, so the orders below fail
	case <-ctx.Done():
		return ctx.Err()
	}
	end, ok := lease()
	if !ok {
		return errLeaseTooShort
	}
	if p.pausedIn(term) {
		return errAsked
	}
	err := w.launch(end, p.command)
	if err != nil && !errors.Is(err, errAsked) {
		w.cut() // they report why
		return nil
	}
	return err
}

var (
	errLeaseTooShort = errors.New("the lease has ended before the program was started")
	errAsked         = errors.New("the program was asked to end before it was started")
)

// startWatchdogs starts the outer watchdog, which starts the inner one.
func startWatchdogs(environment []string, leaves func(string)) (*watched, error) {
	taken, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reports, told, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, taken.Close(), orders.Close())
	}
	outer := watchdogProcess(OuterWatchdog, taken, told)
	outer.Env = environment
	outer.Stdout, outer.Stderr = os.Stderr, os.Stderr // because stdout has the node's events
	err = errors.Join(outer.Start(), taken.Close(), told.Close())
	if err != nil {
		return nil, errors.Join(err, orders.Close(), reports.Close())
	}
	w := &watched{
		outer: outer, cgroup: newCgroup(), orders: orders, leaves: leaves,
		ready: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.listen(reports)
	return w, nil
}

// listen reads the reports until both watchdogs have ended, because only they hold the pipe.
func (w *watched) listen(reports *os.File) {
	defer close(w.ended)
	lines := bufio.NewScanner(reports)
	some := lines.Scan()
	if some && lines.Text() == reportReady {
		close(w.ready)
		some = lines.Scan()
	}
	if some {
		w.report = lines.Text()
	}
	close(w.told)
	for lines.Scan() { // later reports are about killing its leftovers
		if left, ok := strings.CutPrefix(lines.Text(), reportLeft); ok {
			w.leaves(left)
		}
	}
	_ = reports.Close()
	_ = w.outer.Wait()
	_ = w.orders.Close()
	w.cgroup.kill() // in case both were killed
	w.cgroup.remove()
}

// launch orders the watchdogs to start the program, unless it was already asked to end. They
// get the deadline first, so that the program never runs without it.
func (w *watched) launch(until int64, command string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.Load() {
		return errAsked
	}
	w.until = until
	return errors.Join(w.send(orderUntil+"%d", until), w.send("%s%q", orderCgroup, w.cgroup), w.send("%s%q", orderSocket, w.socket),
		w.send("%s%q", orderRun, command))
}

// extend sends the end of the lease to the watchdogs.
func (w *watched) extend(until int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = until
	return w.send(orderUntil+"%d", until)
}

// ask asks the program to end.
func (w *watched) ask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked.Store(true)
	_ = w.send(orderStop) // if it does not get there, the deadline ends the program
}

// send sends an order to the outer watchdog. The caller holds mu.
func (w *watched) send(format string, args ...any) error {
	_ = w.orders.SetWriteDeadline(time.Now().Add(stubborn)) // a pipe supports deadlines
	_, err := fmt.Fprintf(w.orders, format+"\n", args...)
	return err
}

// stubborn is how long a watchdog may take to obey. Then it is killed, and the other one ends
// the program.
const stubborn = time.Second

// finish ends the program: at once, or, if graceful, by asking it and waiting for the rest of
// the lease.
func (w *watched) finish(graceful bool) {
	wait := stubborn
	if graceful {
		w.ask()
		wait += left(w.until)
	} else {
		_ = w.orders.Close() // the outer watchdog then acts as if this node had ended
	}
	w.await(wait)
	<-w.ended
}

// await waits for the end of the program. If it does not end in time, the outer watchdog is
// assumed to be stopped, and killed.
func (w *watched) await(long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-w.ended:
	case <-timer.C:
		w.cut()
	}
}

// cut kills the outer watchdog, which does not obey; then the inner one ends the program.
func (w *watched) cut() {
	_ = w.orders.Close()
	_ = w.outer.Process.Kill()
	w.cgroup.kill()
}

// why returns why the program has ended during its office: nil if it was asked to. It also
// returns whether the program ended by itself, and how long it ran, which the watchdogs know
// better than since if they report it.
func (w *watched) why(since time.Duration) (ran time.Duration, byItself bool, err error) {
	report, byItself := strings.CutPrefix(w.report, reportEnded)
	switch {
	case w.asked.Load():
		return since, false, nil
	case byItself:
		nanos, status, _ := strings.Cut(report, " ")
		ran, err := strconv.ParseInt(nanos, 10, 64)
		return time.Duration(ran), true, errors.Join(fmt.Errorf("the program has ended by itself: %s", status), err)
	case w.report == reportLease:
		return since, false, errLeaseRanOut
	default:
		return since, true, errors.New("the program was killed, because one of its watchdogs was killed")
	}
}

var errLeaseRanOut = errors.New("the program was killed, because the lease ran out before this node could renew it")

// pause asks the program to end, and waits until it has. After that it writes no more, and
// the leadership can be handed over. In this term no program is started any more, because Lead
// may have been called, but not yet have started it.
func (p *program) pause(ctx context.Context, term memberstate.Term) error {
	p.mu.Lock()
	p.paused = max(p.paused, term)
	p.mu.Unlock()
	return p.askToEnd(ctx)
}

// pausedIn reports whether pause was called in a term.
func (p *program) pausedIn(term memberstate.Term) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return term <= p.paused
}

// askToEnd asks the program to end, if there is one, and waits until it has.
func (p *program) askToEnd(ctx context.Context) error {
	p.mu.Lock()
	w := p.running
	p.mu.Unlock()
	if w == nil {
		return nil
	}
	p.ability.excuse(true)
	w.ask()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		p.ability.excuse(false)
		return ctx.Err()
	}
}

// end asks the program to end, and kills it if that takes too long.
func (p *program) end(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if p.askToEnd(ctx) != nil {
		p.kill()
	}
}

// kill kills the program, if there is one, and waits until it has ended.
func (p *program) kill() {
	p.mu.Lock()
	w := p.running
	p.mu.Unlock()
	if w != nil {
		w.finish(false)
	}
}

// watchdogProcess returns the command that starts a watchdog in a session of its own. It runs
// this very executable, even if its file has been replaced.
func watchdogProcess(place string, orders, reports *os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", WatchdogCommand, place)
	cmd.Args[0] = watchdogName
	cmd.Stdin, cmd.ExtraFiles = orders, []*os.File{reports}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
