//go:build !unix

package cli

import (
	"io"
	"time"
)

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }

// isTerminal says whether someone watches; here nobody is known to.
func isTerminal(io.Writer) bool { return false }
