// Logging. The logger is the user's: it may be slow, and it may call back. So it is called
// without a lock.

package lease

import (
	"context"
	"log/slog"

	"github.com/hustings/hustings/lease/protocol"
)

// line is a line to log.
type line struct {
	level slog.Level
	text  string
	args  []any
}

// say queues a line that is logged when the keeper's lock is released. Its caller holds the lock.
func (k *Keeper) say(level slog.Level, text string, args ...any) {
	k.lines = append(k.lines, line{level, text, args})
}

// unlock releases the keeper's lock, and logs the queued lines.
func (k *Keeper) unlock() {
	lines := k.lines
	k.lines = nil
	k.mu.Unlock()
	for _, l := range lines {
		k.tell(l)
	}
}

func (k *Keeper) tell(l line) { k.log.Log(context.Background(), l.level, l.text, l.args...) }

// failing is logged for calls that fail, and working for the first that succeeds again. A
// Listen that works never returns, so it has no line.
var (
	failing = map[protocol.Kind]string{
		protocol.Read:    "leases could not be read",
		protocol.Acquire: "the lease could not be claimed",
		protocol.Renew:   "leases were not renewed",
		protocol.Release: "the lease could not be released; retrying until it has expired",
		protocol.Wake:    "candidates could not be woken for a released lease",
		protocol.Listen:  "cannot listen for released leases",
	}
	working = map[protocol.Kind]string{
		protocol.Read:    "leases can be read again",
		protocol.Acquire: "leases can be claimed again",
		protocol.Renew:   "leases are renewed again",
		protocol.Release: "leases can be released again",
		protocol.Wake:    "candidates can be woken again",
	}
)

// The error for a database in which terms have fallen, and its remedy.
const (
	forgotten = "the database has forgotten terms of this lease, or this is an old copy; the lease is left alone"
	remedy    = "if this persists, set the term in its record to the known one; or restart all candidates, if no write is fenced by terms"
)

// Tell logs a note.
func (fx effects) Tell(n protocol.Note) {
	var about []any
	if n.Name != "" {
		about = append(about, "group", n.Name, "term", uint64(n.Term))
	}
	switch n.Topic {
	case protocol.Fails:
		if n.Leases > 0 {
			about = append(about, "leases", n.Leases)
		}
		fx.say(slog.LevelWarn, failing[n.Kind], append(about, "error", n.Err, "failures", n.Count)...)
	case protocol.Works:
		fx.say(slog.LevelInfo, working[n.Kind])
	case protocol.RanOut:
		fx.say(slog.LevelWarn, "lost the lease", append(about, "why", "it has expired")...)
	case protocol.TakenAway:
		fx.say(slog.LevelWarn, "lost the lease", append(about, "why", "it was taken away")...)
	case protocol.ReturnedEarly:
		fx.say(slog.LevelWarn, "lead returned early, resigning", append(about, "error", n.Err)...)
	case protocol.NotAble:
		about = append(about, "why", n.Why.String())
		if n.Err != nil {
			about = append(about, "error", n.Err)
		}
		fx.say(slog.LevelWarn, "not able to lead", about...)
	case protocol.Forgotten:
		fx.say(slog.LevelError, forgotten, append(about, "known", uint64(n.Known), "do", remedy)...)
	}
}
