// What is logged, and when. The logger is the user's: it may be slow, and it may call
// back. So it is called while no lock is held.

package lease

import (
	"context"
	"log/slog"
)

// line is something that is to be logged.
type line struct {
	level slog.Level
	text  string
	args  []any
}

// say has something logged when the keeper's lock is given back. Its caller holds that.
func (k *Keeper) say(level slog.Level, text string, args ...any) {
	k.lines = append(k.lines, line{level, text, args})
}

// unlock gives the keeper's lock back, and logs what there was to say.
func (k *Keeper) unlock() {
	lines := k.lines
	k.lines = nil
	k.mu.Unlock()
	for _, l := range lines {
		k.tell(l)
	}
}

func (k *Keeper) tell(l line) { k.log.Log(context.Background(), l.level, l.text, l.args...) }
