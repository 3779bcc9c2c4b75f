// A cluster of three members of either side.

package realtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// nodes are the members of every cluster.
var nodes = []string{"n0", "n1", "n2"}

// member is a member of either side.
type member interface {
	// leader returns the leader that the member knows; empty if it knows none.
	leader() string
	// resign makes the leader hand over, and returns when that is done.
	resign() error
	// close ends the member with everything that belongs to it.
	close() error
}

type cluster struct {
	town    *town
	members map[string]member
	gone    string        // the member that is cut off; empty: none is
	changed chan struct{} // receives a value when a member knows another leader
}

// found makes the lines and starts the members.
func found(addresses map[string]string, start func(t *town, node string) (member, error)) (*cluster, error) {
	t, err := newTown(addresses)
	if err != nil {
		return nil, err
	}
	c := &cluster{town: t, members: make(map[string]member)}
	for _, node := range nodes {
		m, err := start(t, node)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.members[node] = m
	}
	return c, nil
}

// close ends everything, the lines first, so that no member waits for another.
func (c *cluster) close() error {
	problems := []error{c.town.close()}
	for _, m := range c.members {
		problems = append(problems, m.close())
	}
	return errors.Join(problems...)
}

// known returns the leader that at least by members know; empty if there is none.
func (c *cluster) known(by int) string {
	var known []string
	for node, m := range c.members {
		if node != c.gone {
			known = append(known, m.leader())
		}
	}
	for _, leader := range known {
		same := func(other string) bool { return other == leader }
		if leader != "" && leader != c.gone && len(known)-len(slices.DeleteFunc(slices.Clone(known), same)) >= by {
			return leader
		}
	}
	return ""
}

// patience is longer than anything takes that does not fail.
const patience = 30 * time.Second

// await waits until at least by members know a leader other than before.
func (c *cluster) await(ctx context.Context, by int, before string) (leader string, err error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		if leader = c.known(by); leader != "" && leader != before {
			return leader, nil
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			return "", ctx.Err()
		case <-late.C:
			return "", fmt.Errorf("realtime: %d members know no new leader within %v", by, patience)
		}
	}
}
