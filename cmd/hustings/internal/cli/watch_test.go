// Nodes that are watched, and come and go.

package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A node that is away for long is not pestered, and one that was there a moment ago is back soon. Each time that it is lost is
// told once.
func TestANodeThatIsLostIsTriedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		cmd := newWatch()
		cmd.SetOut(&out)
		ctx, interrupt := context.WithCancel(t.Context())
		var waited []time.Duration
		last := time.Now()
		w := watcher{operation: new(operation), cmd: cmd}
		w.once = func(_ context.Context, _ string, heard func()) error {
			waited, last = append(waited, time.Since(last)), time.Now()
			switch len(waited) {
			case 8:
				heard()
				heard()
				return errEnded
			case 10:
				interrupt()
			}
			return errors.New("it is away")
		}
		w.follow(ctx, "host:1")
		const shortest, longest = 250 * time.Millisecond, 4 * time.Second
		assert.Equal(t, []time.Duration{
			0, shortest, 2 * shortest, 4 * shortest, 8 * shortest, longest, longest, longest, // it is heard
			shortest, 2 * shortest,
		}, waited)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if assert.Len(t, lines, 2) {
			assert.Regexp(t, `host:1 +it is away; retrying$`, lines[0])
			assert.Regexp(t, `host:1 +the node has stopped; retrying$`, lines[1])
		}
	})
}
