// Command raft36 measures etcd/raft 3.6, which is faster than 3.7 in some benchmarks. It is a
// module of its own, because a program can contain only one version; the measuring code is the
// same.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/hustings/hustings/bench/churn"
	"github.com/hustings/hustings/bench/events"
	"github.com/hustings/hustings/bench/failover"
	"github.com/hustings/hustings/bench/groups"
	"github.com/hustings/hustings/bench/operation"
	"github.com/hustings/hustings/bench/peer"
)

func main() {
	signal.Ignore(os.Interrupt) // it is for the parent, which then sends no more jobs
	err := peer.Serve(context.Background(), os.Stdin, os.Stdout, peer.Jobs{
		"failover":  peer.Of(failover.Etcd),
		"operation": peer.Of(operation.Etcd),
		"groups":    peer.Of(groups.Etcd),
		"events":    peer.Of(events.Etcd),
		"churn":     peer.Of(churn.Etcd),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
