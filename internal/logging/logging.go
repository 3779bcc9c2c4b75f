// Package logging is about where the library logs when nobody has said where.
package logging

import (
	"context"
	"log/slog"
)

// Or is the logger itself, or, if it is nil, one whose warnings and errors go to
// [slog.Default], for what goes wrong must not go unnoticed because a field was left
// out. Nothing else does, for a library should be quiet unless it is asked to speak.
func Or(l *slog.Logger) *slog.Logger {
	if l != nil {
		return l
	}
	return slog.New(warnings{func() slog.Handler { return slog.Default().Handler() }})
}

// warnings handles warnings and errors alone. Their handler is looked up for each,
// because a program may set its default after it has set up the library.
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
