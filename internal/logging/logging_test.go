// The logger of a configuration without one.

package logging_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/logging"
)

// listen makes the default logger write to a buffer until the test ends.
func listen(t *testing.T) *bytes.Buffer {
	t.Helper()
	said := new(bytes.Buffer)
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{
		Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	return said
}

func TestWithoutALoggerOnlyWarningsAndErrorsAreLogged(t *testing.T) {
	log := logging.Or(nil) // before the program has set its default
	said := listen(t)
	for _, l := range []*slog.Logger{log, log.With("a", 1), log.WithGroup("g").With("a", 2)} {
		l.Debug("little")
		l.Info("something")
		l.Warn("much", "b", 3)
		l.Error("more")
	}
	assert.Equal(t, `level=WARN msg=much b=3
level=ERROR msg=more
level=WARN msg=much a=1 b=3
level=ERROR msg=more a=1
level=WARN msg=much g.a=2 g.b=3
level=ERROR msg=more g.a=2
`, said.String())
}

func TestALoggerThatIsGivenIsUsed(t *testing.T) {
	said := listen(t)
	log := slog.New(slog.DiscardHandler)
	assert.Same(t, log, logging.Or(log))
	logging.Or(log).Error("more")
	assert.Empty(t, said.String())
}
