// The rate of the log.

package grpcrpc

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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
