// Which process a command is meant for. An operator who looks at a node and then commands it may reach another process: the
// node has been started again meanwhile. A new process serves, mostly, so a late Drain would take a node out of service that has
// just come back, and a late Transfer would be about a leadership that is gone.

package operator

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/hustings/hustings/elector"
)

// ErrOtherProcess is the error of a command that is meant for another process of the node, see Client.ForProcess.
var ErrOtherProcess = errors.New("the command is meant for another process")

// ForProcess returns a client that uses the same connection, and whose commands are meant for one process of the
// node: any other one refuses them with ErrOtherProcess. The incarnation is what Nodes says of the node itself; 0: any process.
// Nodes of older versions do not look at it.
func (c *Client) ForProcess(incarnation uint64) *Client {
	only := *c
	only.incarnation = incarnation
	return &only
}

// meant refuses a command that is meant for another process.
func (s *service) meant(incarnation uint64) error {
	own := s.host.Incarnation()
	switch {
	case incarnation == 0 || incarnation == own:
		return nil
	case own == 0:
		return fmt.Errorf("node %q takes part in no group yet, so it is not process %d: %w", s.host.Self(), incarnation, ErrOtherProcess)
	}
	return fmt.Errorf("node %q is process %d now, not %d, because it has been started again: %w", s.host.Self(), own, incarnation, ErrOtherProcess)
}

// causes are the errors that a caller may want to distinguish, with their codes on the wire. No two have the same code.
var causes = []struct {
	err  error
	code codes.Code
}{
	{elector.ErrNotLeader, codes.FailedPrecondition},
	{elector.ErrTransferInProgress, codes.AlreadyExists},
	{elector.ErrTransferFailed, codes.Aborted},
	{elector.ErrStopped, codes.Unavailable},
	{ErrOtherProcess, codes.OutOfRange},
}
