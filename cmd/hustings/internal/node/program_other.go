//go:build !linux

package node

import (
	"context"
	"errors"
	"os"
	"time"
)

var errNoExec = errors.New("--exec works on Linux only")

type watched struct{}

func (p *program) run(context.Context, []string, func() (int64, bool)) error { return errNoExec }

func (p *program) pause(context.Context) error { return nil }

func (p *program) end(time.Duration) {}

// Watchdog needs Linux: elsewhere the children of a process that has ended cannot be found.
func Watchdog(string, *os.File) error { return errNoExec }
