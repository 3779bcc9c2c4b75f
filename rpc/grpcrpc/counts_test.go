// The rate of the log.

package grpcrpc

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachReasonIsLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		q := newQuietLog(slog.New(slog.NewTextHandler(&log, nil)))
		logged := func(why Refusal, times int) string {
			log.Reset()
			for range times {
				q.refusal(why)
			}
			_, line, _ := strings.Cut(log.String(), " msg=")
			return line
		}
		assert.Equal(t, "refused reason=crowd\n", logged(RefusedCrowd, 3))
		assert.Equal(t, "refused reason=flood\n", logged(RefusedFlood, 1), "another reason")
		<-time.After(time.Second - 1)
		assert.Empty(t, logged(RefusedCrowd, 1))
		<-time.After(1)
		assert.Equal(t, "refused reason=crowd more_untold=3\n", logged(RefusedCrowd, 1))
		<-time.After(time.Second)
		assert.Equal(t, "refused reason=crowd\n", logged(RefusedCrowd, 1))
	})
}

// That clock may be set back by an hour, and then nothing would be logged for so long.
func TestTheRateOfTheLogDoesNotFollowTheClockOfTheMachine(t *testing.T) {
	var l rateLimit
	_, due := l.allow(time.Second)
	require.True(t, due)
	assert.Contains(t, l.last.String(), " m=", "the reading of the monotonic clock")
}

// Whoever has used one id twice may have used others twice, too.
func TestEachIDWithTwoProcessesIsLogged(t *testing.T) {
	l, _ := linkTo(t)
	tr := l.transport
	var log strings.Builder
	tr.log = newQuietLog(slog.New(slog.NewTextHandler(&log, nil)))
	one, other := &connection{remote: "here"}, &connection{remote: "there"}
	for _, of := range []*link{l, newLink(tr, "c", ""), l} {
		require.Error(t, tr.reportTwo(of, one, other))
		tr.reportTwoOfUs("c", errors.New("refused"))
	}
	for _, id := range []string{"a", "b", "c"} {
		assert.Equal(t, 1, strings.Count(log.String(), "two processes claim to be "+id), id)
	}
}

// The error is logged by the node that is there twice, and its operator looks for the other process.
func TestTheErrorOfTwoProcessesNamesBothNodes(t *testing.T) {
	l, _ := linkTo(t)
	err := l.transport.reportTwo(l, &connection{remote: "here"}, &connection{remote: "there"})
	assert.ErrorContains(t, err, "node b is called by two processes that claim to be a, from here and there")
}

// Dashboards and the handbook rely on the names.
func TestEveryRefusalHasItsName(t *testing.T) {
	names := map[Refusal]string{
		RefusedHandshake: "handshake", RefusedSilence: "silence", RefusedCrowd: "crowd", RefusedRole: "role",
		RefusedIdentity: "identity", RefusedMessage: "message", RefusedPeer: "peer", RefusedFlood: "flood",
		RefusedCertificate: "certificate", RefusedReload: "reload",
	}
	assert.Equal(t, slices.Sorted(maps.Keys(names)), Refusals())
	for why, name := range names {
		assert.Equal(t, name, why.String())
	}
	assert.Equal(t, "unknown", refusals.String())
}

// Each count has a number of its own, so that none is taken for another.
func TestEveryCountIsReported(t *testing.T) {
	l, _ := linkTo(t)
	tr := l.transport
	tr.log = newQuietLog(slog.New(slog.DiscardHandler))
	want := Stats{Sent: 1, Received: 2, Dropped: 3, Connected: 4, TwoProcesses: 5, Refused: map[Refusal]uint64{}}
	for n, count := range []*atomic.Uint64{&tr.counts.sent, &tr.counts.received, &tr.counts.dropped, &tr.counts.connected, &tr.counts.twoProcesses} {
		count.Store(uint64(n + 1))
	}
	for _, why := range Refusals() {
		want.Refused[why] = uint64(why) + 6
		for range want.Refused[why] {
			tr.refuse(why)
		}
	}
	assert.Equal(t, want, tr.Stats())
}
