// A logger that keeps nobody waiting. The loop of a node and the links of a transport log, and must go on when the
// handler blocks: it is the user's, and standard error may be a pipe that nobody reads.

package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Aside is a logger whose lines are handled by a goroutine, one after another. The goroutine ends when no line waits. Lines
// beyond mostLines are dropped, and it is logged how many these were.
type Aside struct {
	*slog.Logger
	queue *queue
}

// mostLines bounds the lines that wait.
const mostLines = 1024

// NewAside is a logger that hands its lines to those of l.
func NewAside(l *slog.Logger) *Aside {
	q := new(queue)
	return &Aside{slog.New(queued{l.Handler(), q}), q}
}

// lastWords is how long Flush waits at most.
const lastWords = time.Second

// Flush waits until no line waits, but not for long. It is called when the process may be about to end, because the last lines
// say why.
func (a *Aside) Flush() {
	idle := a.queue.whenIdle()
	if idle == nil {
		return
	}
	late := time.NewTimer(lastWords)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
	}
}

// queued is a handler that queues lines for another one.
type queued struct {
	slog.Handler
	queue *queue
}

func (h queued) Handle(ctx context.Context, r slog.Record) error {
	h.queue.add(line{h.Handler, context.WithoutCancel(ctx), r.Clone()})
	return nil
}

func (h queued) WithAttrs(attrs []slog.Attr) slog.Handler {
	return queued{h.Handler.WithAttrs(attrs), h.queue}
}

func (h queued) WithGroup(name string) slog.Handler {
	return queued{h.Handler.WithGroup(name), h.queue}
}

// line is a line that waits, with its handler.
type line struct {
	handler slog.Handler
	ctx     context.Context //nolint:containedctx // the handler may look for values in it
	record  slog.Record
}

func (l *line) log() { _ = l.handler.Handle(l.ctx, l.record) }

// queue is the lines that wait. The zero queue has none.
type queue struct {
	mu      sync.Mutex
	waiting []line
	dropped int
	last    slog.Handler  // of the last line that was dropped
	handled bool          // a goroutine handles them
	idle    chan struct{} // closed when no line is left; nil while nobody waits for that
}

func (q *queue) add(l line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= mostLines {
		q.dropped, q.last = q.dropped+1, l.handler
		return
	}
	q.waiting = append(q.waiting, l)
	if !q.handled {
		q.handled = true
		go q.handle()
	}
}

// handle handles lines until none waits. If a handler ends the goroutine (runtime.Goexit), another one goes on.
func (q *queue) handle() {
	over := false
	defer func() {
		if !over {
			go q.handle()
		}
	}()
	for {
		l, waits := q.next()
		if !waits {
			over = true
			return
		}
		l.log()
	}
}

// next takes out the line that has waited longest. When those that waited have been logged, it returns one that says how many
// others were dropped meanwhile.
func (q *queue) next() (l line, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.waiting) > 0:
		l, q.waiting = q.waiting[0], q.waiting[1:]
		return l, true
	case q.dropped > 0:
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of this log were dropped, because it was not written fast enough", 0)
		r.AddAttrs(slog.Int("lines", q.dropped))
		l = line{q.last, context.Background(), r}
		q.dropped, q.last = 0, nil
		return l, true
	}
	q.waiting, q.handled = nil, false
	if q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
	return l, false
}

// whenIdle is a channel that is closed when no line is left; nil if none is.
func (q *queue) whenIdle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.handled && q.idle == nil {
		q.idle = make(chan struct{})
	}
	return q.idle
}
