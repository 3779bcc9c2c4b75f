//go:build !linux

package node

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/hustings/hustings/memberstate"
)

var errNoExec = errors.New("--exec works on Linux only")

type watched struct{}

func (p *program) run(context.Context, memberstate.Term, []string, func() (int64, bool)) error {
	return errNoExec
}

func (p *program) pause(context.Context, memberstate.Term) error { return nil }

func (p *program) end(time.Duration) {}

func (p *program) kill() {}

func (a *ability) check(context.Context, func(string) []string) {}

// Watchdog needs Linux, because elsewhere it could not find the children of a dead process.
func Watchdog(string, *os.File) error { return errNoExec }
