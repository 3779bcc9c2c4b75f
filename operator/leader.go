// Finding the leader, which alone can hand over.

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// ErrNoLeader is the error if none of the nodes that could be asked knows a leader.
var ErrNoLeader = errors.New("no leader is known")

// grace is the wait for further answers after the first one, because another node may know of
// a later term. It bounds the delay by a node that hangs.
const grace = 250 * time.Millisecond

// lead is a node's answer: the address of the leader of a term.
type lead struct {
	term    memberstate.Term
	address string
	err     error
}

// DialLeader asks the nodes at these addresses, all at once, for the leader of a group and its
// address, and connects to the leader of the latest term. Once a node has answered, it does
// not wait for nodes that hang.
func DialLeader(ctx context.Context, addresses []string, files *grpcrpc.TLS, group string) (*Client, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan lead, len(addresses))
	for _, address := range addresses {
		go func() { answers <- leaderBy(ctx, address, files, group) }()
	}
	best, problems := latest(answers, len(addresses))
	if best.address == "" {
		return nil, errors.Join(problems...)
	}
	return Dial(best.address, files)
}

// latest returns the answer with the largest term, among those that come soon enough.
func latest(answers <-chan lead, count int) (best lead, problems []error) {
	var enough <-chan time.Time
	for range count {
		select {
		case found := <-answers:
			switch {
			case found.err != nil:
				problems = append(problems, found.err)
			case best.address == "":
				best = found
				enough = time.After(grace)
			case found.term > best.term:
				best = found
			}
		case <-enough:
			return best, problems
		}
	}
	return best, problems
}

// leaderBy asks the node at an address for the leader's address.
func leaderBy(ctx context.Context, address string, files *grpcrpc.TLS, group string) (found lead) {
	c, err := Dial(address, files)
	if err != nil {
		return lead{err: err}
	}
	defer func() { _ = c.Close() }() // its answer was read, or another error says why not
	all, err := c.Status(ctx, group)
	if err != nil {
		return lead{err: err}
	}
	if len(all) != 1 {
		return lead{err: fmt.Errorf("%s: the node has %d groups; name one", address, len(all))}
	}
	now := all[0]
	found.term = now.Term
	switch now.Leader {
	case "":
		found.err = fmt.Errorf("%s: %w in term %d of group %q", address, ErrNoLeader, now.Term, now.Group)
	case now.Self:
		found.address = address
	default:
		found.address, found.err = c.addressOf(ctx, now.Status)
	}
	return found
}

func (c *Client) addressOf(ctx context.Context, s elector.Status) (string, error) {
	members, err := c.Members(ctx, s.Group)
	if err != nil {
		return "", err
	}
	for _, m := range members {
		if m.ID == s.Leader && m.Address != "" {
			return m.Address, nil
		}
	}
	return "", fmt.Errorf("%s: %q leads group %q, but the node does not know its address", c.address, s.Leader, s.Group)
}
