// Package logging has the library's logger for configurations without one.
package logging

import (
	"context"
	"log/slog"
)

// Or returns l, or if it is nil, a logger that passes warnings and errors to [slog.Default],
// so that failures are noticed even if a field was left out. It drops everything else,
// because a library should be quiet by default.
func Or(l *slog.Logger) *slog.Logger {
	if l != nil {
		return l
	}
	return slog.New(warnings{func() slog.Handler { return slog.Default().Handler() }})
}

// warnings handles only warnings and errors. It looks up the handler for each one, because
// a program may set its default logger after it has set up the library.
type warnings struct{ handler func() slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.handler().Enabled(ctx, level)
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	return w.handler().Handle(ctx, r)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{func() slog.Handler { return w.handler().WithAttrs(attrs) }}
}

func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{func() slog.Handler { return w.handler().WithGroup(name) }}
}
