// etcd/raft in this measurement.

package failover

import (
	"context"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
)

// Task is a scenario for a peer, and the number of trials.
type Task struct {
	Scenario Scenario
	Trials   int
}

// Etcd runs the trials with the version of etcd/raft that is linked in. It runs one trial at a
// time, because etcd/raft uses the process's random source.
func Etcd(ctx context.Context, t Task) (Outcomes, error) {
	defer etcd.Restore()
	return repeatTrials(ctx, etcdOf((*raft.RawNode).Step), t.Scenario, t.Trials, 1)
}

func etcdOf[M any](step func(*raft.RawNode, M) error) Library[M] {
	return Library[M]{Detection: detection, Found: etcd.Found(step, detection/etcd.ElectionTicks)}
}
