// Finding the leader: only it can be told to hand over.

package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// ErrNoLeader is the error if none of the nodes that could be asked knows a leader.
var ErrNoLeader = errors.New("no leader is known")

// DialLeader asks the nodes at these addresses, one after the other, who leads a
// group and where, and connects to the leader.
func DialLeader(ctx context.Context, addresses []string, files *grpcrpc.TLS, group string) (*Client, error) {
	var problems []error
	for _, address := range addresses {
		leader, err := leaderBy(ctx, address, files, group)
		if err == nil {
			return Dial(leader, files)
		}
		problems = append(problems, err)
	}
	return nil, errors.Join(problems...)
}

// leaderBy is the address of the leader, as the node at another address has it.
func leaderBy(ctx context.Context, address string, files *grpcrpc.TLS, group string) (_ string, err error) {
	c, err := Dial(address, files)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	now, err := c.Status(ctx, group)
	switch {
	case err != nil:
		return "", err
	case len(now) != 1:
		return "", fmt.Errorf("%s: the node has %d groups; say which", address, len(now))
	case now[0].Leader == "":
		return "", fmt.Errorf("%s: %w in term %d of group %q", address, ErrNoLeader, now[0].Term, now[0].Group)
	case now[0].Leader == now[0].Self:
		return address, nil
	}
	return c.addressOf(ctx, now[0])
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
	return "", fmt.Errorf("%s: %q leads group %q, but the node does not know where it is", c.address, s.Leader, s.Group)
}
