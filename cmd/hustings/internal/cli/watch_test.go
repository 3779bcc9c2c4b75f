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
	"github.com/stretchr/testify/require"
)

// Each time that a node says something it is there again, so that it is told of if it is lost once more.
func TestANodeThatSaysSomethingIsHeard(t *testing.T) {
	t.Parallel()
	cmd := newWatch()
	cmd.SetOut(new(page))
	w, times := watcher{operation: &operation{group: "orders"}, cmd: cmd}, 0
	n := resigning{next: []string{"", "n1", "n2"}, asked: make(chan string, 1)}
	require.ErrorIs(t, w.watchOnce(t.Context(), serving(t, n), func() { times++ }), errEnded)
	assert.Equal(t, 3, times)
}

// Nobody is told again and again about a mistake of his own.
func TestOneOfSeveralGroupsIsNamedToBeWatched(t *testing.T) {
	t.Parallel()
	ctx, giveUp := context.WithTimeout(t.Context(), enough)
	defer giveUp()
	cmd := newWatch()
	cmd.SetArgs([]string{"-a", crowded(t, 3)})
	cmd.SetOut(new(page))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	require.ErrorAs(t, err, new(usageError))
	assert.ErrorContains(t, err, "--group is not given, and the node has several groups")
}

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
