// The rows of most sections: our library, and both versions of etcd/raft.

package peer

import (
	"context"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/measure"
)

// Rows returns the rows of our library and of both versions; the older version runs in the child.
// The argument is read at each turn.
func Rows[A, R any](ctx context.Context, older *Child, job string, ours func() (R, error), newer func(context.Context, A) (R, error), argument *A) []measure.Row[R] {
	return []measure.Row[R]{
		{Measure: ours},
		{Name: etcd.Newer, Measure: func() (R, error) { return newer(ctx, *argument) }},
		{Name: etcd.Older, Measure: func() (R, error) { return Do[R](older, job, argument) }},
	}
}
