package node

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// story is an election that goes as it is written.
type story struct {
	election
	all  []elector.Status
	told chan struct{}
}

func (s *story) Watch(context.Context) iter.Seq[elector.Status] {
	return func(yield func(elector.Status) bool) {
		defer close(s.told)
		for _, status := range s.all {
			if !yield(status) {
				return
			}
		}
	}
}

func (s *story) Run(context.Context) error { <-s.told; return nil }
func (s *story) Status() elector.Status    { return s.all[len(s.all)-1] }

// A change that tells the reader of the output nothing is no line of it.
func TestNothingIsSaidTwice(t *testing.T) {
	led := elector.Status{Revision: 1, Role: memberstate.Leader, Term: 3, Leader: "n"}
	left := elector.Status{Revision: 2, Role: memberstate.Candidate, Term: 3}
	stopped := left
	stopped.Stopped, stopped.Revision = true, 3
	var out strings.Builder
	m := member{id: "n", group: "g", out: NewPrinter(&out, false), log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	m.election = &story{all: []elector.Status{led, left, stopped}, told: make(chan struct{})}
	require.NoError(t, m.run(t.Context(), 3))
	assert.Equal(t, []string{
		"n  takes part in group g from term 3 on", "n  leads term 3", "n  knows no leader in term 3", "n  has stopped",
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}
