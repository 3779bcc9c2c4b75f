// A logger that keeps nobody waiting.

package logging_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/logging"
)

// gate is a handler that waits before each line until it is opened.
type gate struct {
	slog.Handler
	open <-chan struct{}
}

func (g gate) Handle(ctx context.Context, r slog.Record) error {
	<-g.open
	return g.Handler.Handle(ctx, r)
}

// gated is a logger whose handler waits until open is closed, and what it has written.
func gated() (log *logging.Aside, open chan struct{}, said *bytes.Buffer) {
	said, open = new(bytes.Buffer), make(chan struct{})
	return logging.NewAside(slog.New(gate{slog.NewTextHandler(said, nil), open})), open, said
}

func TestAHandlerThatBlocksKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, open, said := gated()
		const most, more = 1024, 30
		for i := range 1 + most { // the handler has one of them
			log.Info("line", "i", i)
			synctest.Wait()
		}
		for range more {
			log.Info("another line")
		}
		began := time.Now()
		log.Flush()
		assert.Equal(t, time.Second, time.Since(began), "it waits no longer")
		close(open)
		log.Flush()
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		assert.Len(t, lines, 1+most+1)
		for i, l := range lines[:1+most] {
			assert.Contains(t, l, fmt.Sprintf("msg=line i=%d", i))
		}
		assert.Contains(t, lines[1+most], fmt.Sprint("level=WARN msg=\"lines of this log were dropped, because it was not written fast enough\" lines=", more))
	})
}

func TestLinesKeepTheirTimesAndTheirAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, open, said := gated()
		before := time.Now().Format(time.RFC3339Nano)
		log.With("a", 1).WithGroup("g").Warn("much", "b", 2)
		time.AfterFunc(time.Second/2, func() { close(open) })
		log.Flush()
		assert.Equal(t, "level=WARN msg=much a=1 g.b=2\n", strings.SplitN(said.String(), " ", 2)[1])
		at, err := time.Parse(time.RFC3339Nano, before)
		assert.NoError(t, err)
		assert.Contains(t, said.String(), "time="+at.Format("2006-01-02T15:04:05"))
		log.Flush() // nothing waits
	})
}

// ender is a handler that ends its goroutine with the first line.
type ender struct {
	slog.Handler
	ended *bool
}

func (e ender) Handle(ctx context.Context, r slog.Record) error {
	if !*e.ended {
		*e.ended = true
		runtime.Goexit()
	}
	return e.Handler.Handle(ctx, r)
}

func TestAHandlerThatEndsItsGoroutineLosesOneLine(t *testing.T) {
	var said bytes.Buffer
	log := logging.NewAside(slog.New(ender{slog.NewTextHandler(&said, nil), new(bool)}))
	log.Info("one")
	log.Info("two")
	log.Flush()
	assert.Contains(t, said.String(), "msg=two")
}
