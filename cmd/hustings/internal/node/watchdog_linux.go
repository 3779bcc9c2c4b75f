// The watchdog: a process that does nothing but hold the deadline of a program.

package node

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Watchdog runs a shell command and kills it, and all that it has started, when
// the deadline that it reads from orders has passed, or when orders end. Orders
// are lines: "until N" moves the deadline to N nanoseconds of the machine's
// monotonic clock, 0 for none; "stop" asks the command to end by itself.
func Watchdog(command string, orders io.Reader) error {
	runtime.LockOSThread() // the death signal comes when the thread ends that made the child
	defer runtime.UnlockOSThread()
	lines := readOrders(orders)
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	group := -cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.NewTimer(time.Hour)
	defer deadline.Stop()
	var until int64
	asked := false
	for {
		deadline.Reset(left(until))
		select {
		case err := <-ended:
			_ = syscall.Kill(group, syscall.SIGKILL) // what it has left behind
			if asked {
				return nil
			}
			return err
		case order, more := <-lines:
			switch {
			case !more:
				return kill(group, ended, "the node is gone")
			case order.stop:
				asked = true
				_ = syscall.Kill(group, syscall.SIGTERM)
			default:
				until = order.until
			}
		case <-deadline.C:
			if until != 0 && monotonic() >= until {
				return kill(group, ended, "the lease has ended")
			}
		}
	}
}

func kill(group int, ended <-chan error, why string) error {
	_ = syscall.Kill(group, syscall.SIGKILL)
	return fmt.Errorf("killed, for %s: %w", why, <-ended)
}

// left is how long it is until a deadline.
func left(until int64) time.Duration {
	if until == 0 {
		return time.Hour
	}
	return max(0, time.Duration(until-monotonic()))
}

type order struct {
	until int64
	stop  bool
}

// readOrders reads orders until they end. What is no order is the end, too.
func readOrders(from io.Reader) <-chan order {
	lines := make(chan order)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(from); s.Scan(); {
			var o order
			if s.Text() == "stop" {
				o.stop = true
			} else if _, err := fmt.Sscanf(s.Text(), "until %d", &o.until); err != nil {
				return
			}
			lines <- o
		}
	}()
	return lines
}
