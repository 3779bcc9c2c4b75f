// The node's side of the watchdogs: it starts them, tells them of the lease, and hears
// from them how the program has ended.

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
)

// watched is a program that was started, under its watchdogs.
type watched struct {
	outer  *exec.Cmd
	cgroup cgroup // that of the program
	mu     sync.Mutex
	orders *os.File
	until  int64         // when the lease ends, as the watchdogs were told last
	asked  atomic.Bool   // to end
	ready  chan struct{} // closed when both watchdogs wait for orders
	told   chan struct{} // closed when the watchdogs report something else, or are gone
	report string        // the first that they report then; read once told is closed
	ended  chan struct{} // closed when neither is left, and so no program
}

// run runs the program until it ends, or until the context does: then it is killed,
// or asked to end, and killed with the lease, if it is graceful. It is an error if
// the program ends and nobody has asked it to.
func (p *program) run(ctx context.Context, environment []string, lease func() (int64, bool)) error {
	w, err := p.start(ctx, environment, lease)
	if err != nil {
		p.note(0, ctx.Err() == nil && !errors.Is(err, errLeaseTooShort))
		return err
	}
	began := time.Now()
	p.set(w)
	defer p.set(nil)
	again := time.NewTicker(p.every)
	defer again.Stop()
	for {
		select {
		case <-w.told:
			if !w.asked.Load() {
				w.await(leftoversGrace + stubborn)
			}
			<-w.ended
			ran, byItself, err := w.why(time.Since(began))
			p.note(ran, byItself)
			return err
		case <-ctx.Done():
			w.finish(p.graceful)
			p.note(time.Since(began), false)
			return ctx.Err()
		case <-again.C:
			if end, ok := lease(); ok && w.extend(end) != nil {
				w.cut()
			}
		}
	}
}

// start starts the watchdogs, which start the program. They are told of the lease when
// they are there to hear it, because on a busy machine that takes long.
func (p *program) start(ctx context.Context, environment []string, lease func() (int64, bool)) (*watched, error) {
	w, err := startWatchdogs(environment)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
	case <-w.told: // they are gone, and orders do not reach them
	case <-ctx.Done():
		return nil, w.giveUp(ctx.Err())
	}
	end, ok := lease()
	if !ok {
		return nil, w.giveUp(errLeaseTooShort)
	}
	err = errors.Join(w.extend(end), w.order("%s%q", orderCgroup, w.cgroup), w.order("%s%q", orderRun, p.command))
	if err != nil {
		w.cut()
	}
	return w, nil
}

var errLeaseTooShort = errors.New("the lease has ended before the program was started")

// giveUp ends the watchdogs before they have a program.
func (w *watched) giveUp(why error) error {
	w.cut()
	<-w.ended
	return why
}

// startWatchdogs starts the outer watchdog, which starts the inner one.
func startWatchdogs(environment []string) (*watched, error) {
	taken, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reports, told, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, taken.Close(), orders.Close())
	}
	outer := watchdogProcess(OuterWatchdog, taken, told)
	outer.Env = append(os.Environ(), environment...)
	outer.Stdout, outer.Stderr = os.Stderr, os.Stderr // stdout is for what the node says
	err = errors.Join(outer.Start(), taken.Close(), told.Close())
	if err != nil {
		return nil, errors.Join(err, orders.Close(), reports.Close())
	}
	w := &watched{
		outer: outer, cgroup: newCgroup(), orders: orders,
		ready: make(chan struct{}), told: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.listen(reports)
	return w, nil
}

// listen waits for the end of both watchdogs: only they can write reports.
func (w *watched) listen(reports *os.File) {
	defer close(w.ended)
	lines := bufio.NewScanner(reports)
	some := lines.Scan()
	if some && lines.Text() == reportReady {
		close(w.ready)
		some = lines.Scan()
	}
	if some { // what killed it comes after how it ended
		w.report = lines.Text()
	}
	close(w.told)
	for lines.Scan() {
	}
	_ = reports.Close()
	_ = w.outer.Wait()
	_ = w.orders.Close()
	w.cgroup.kill() // in case that somebody has killed both
	w.cgroup.remove()
}

// order tells the watchdogs something.
func (w *watched) order(format string, args ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.orders.SetWriteDeadline(time.Now().Add(stubborn)) // pipes have deadlines
	_, err := fmt.Fprintf(w.orders, format+"\n", args...)
	return err
}

// extend tells them until when the lease lasts.
func (w *watched) extend(until int64) error {
	w.until = until
	return w.order(orderUntil+"%d", until)
}

// ask asks the program to end.
func (w *watched) ask() {
	w.asked.Store(true)
	_ = w.order(orderStop) // a watchdog that cannot be told is cut off by its deadline
}

// stubborn is how long a watchdog may take to do what it is told before it is killed,
// by which the other one ends the program.
const stubborn = time.Second

// finish ends the program: at once, or, if it has what is left of the lease, by asking.
func (w *watched) finish(graceful bool) {
	wait := stubborn
	if graceful {
		w.ask()
		wait += left(w.until)
	} else {
		_ = w.orders.Close() // the outer watchdog takes this for our end
	}
	w.await(wait)
	<-w.ended
}

// await waits for the end of the program. If it does not come in time the outer watchdog
// is taken for one that has been stopped.
func (w *watched) await(long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-w.ended:
	case <-timer.C:
		w.cut()
	}
}

// cut kills the outer watchdog, which does not listen; then the inner one ends the program.
func (w *watched) cut() {
	_ = w.orders.Close()
	_ = w.outer.Process.Kill()
	w.cgroup.kill()
}

// why says why the program has ended though its office lasts: nil if it was asked to. Whether
// it has ended by itself is another matter, and then it knows better for how long it ran.
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
		return since, true, errors.New("the program was killed, because a watchdog was")
	}
}

var errLeaseRanOut = errors.New("the program was killed, because the lease ran out before this node could renew it")

// pause asks the program to end, and waits until it has: then there are no more
// writes, and the leadership can be handed over.
func (p *program) pause(ctx context.Context) error {
	p.mu.Lock()
	w := p.running
	p.mu.Unlock()
	if w == nil {
		return nil
	}
	w.ask()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end asks the program to end, and kills it if that takes too long.
func (p *program) end(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if p.pause(ctx) == nil {
		return
	}
	p.mu.Lock()
	w := p.running
	p.mu.Unlock()
	if w != nil {
		w.finish(false)
	}
}

// watchdogProcess is a watchdog that is to be started. It is this very program, even if
// the file that it was started from has been replaced, in a session of its own.
func watchdogProcess(place string, orders, reports *os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", WatchdogCommand, place)
	cmd.Args[0] = watchdogName
	cmd.Stdin, cmd.ExtraFiles = orders, []*os.File{reports}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
