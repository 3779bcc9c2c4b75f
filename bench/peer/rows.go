// What most sections compare: ours, and both versions of etcd/raft.

package peer

import (
	"context"

	"github.com/hustings/hustings/bench/etcd"
	"github.com/hustings/hustings/bench/measure"
)

// Rows are those of ours and of both versions, of which the older one is the child's.
// The argument is what it is when it is their turn.
func Rows[A, R any](ctx context.Context, older *Child, job string, ours func() (R, error), newer func(context.Context, A) (R, error), argument *A) []measure.Row[R] {
	return []measure.Row[R]{
		{Measure: ours},
		{Name: etcd.Newer, Measure: func() (R, error) { return newer(ctx, *argument) }},
		{Name: etcd.Older, Measure: func() (R, error) { return Do[R](older, job, argument) }},
	}
}
