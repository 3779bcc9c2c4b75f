package client

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator/route"
)

// leader is known, and answers nothing before the caller's context ends.
type leader struct{ ended context.CancelCauseFunc }

func (leader) Await(context.Context, string) (route.Leader, error) { return route.Leader{}, nil }

func (leader) AwaitNewer(ctx context.Context, _ string, _ memberstate.Term) (route.Leader, error) {
	<-ctx.Done()
	return route.Leader{}, ctx.Err()
}

func (leader) Refused(string, memberstate.Term) {}

func (l leader) Do(context.Context, string, *ledgerpb.Request) (*ledgerpb.Reply, error) {
	l.ended(context.Canceled)
	return nil, context.Canceled
}

// A session may have been opened, which is nothing that anybody sees. The command was not sent.
func TestACommandWithoutASessionWasNotCarriedOut(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := New(leader{cancel}, leader{cancel}, 1, time.Second)
	err := c.Put(ctx, []byte("k"), []byte("v"))
	require.ErrorIs(t, err, ErrNothing)
	assert.NotErrorIs(t, err, ErrUnknown)
	assert.EqualError(t, err, "nothing was done, because no session could be opened: context canceled")
}

// Nobody is asked: a leader would refuse it, and that would be taken for the end of the session.
func TestACommandThatIsTooLargeIsRefusedAtOnce(t *testing.T) {
	c := New(nil, nil, 1, time.Second)
	err := c.Put(t.Context(), []byte("k"), make([]byte, engine.MaxCommand))
	require.ErrorIs(t, err, ErrNothing)
	require.ErrorContains(t, err, "may have 1048576")
}
