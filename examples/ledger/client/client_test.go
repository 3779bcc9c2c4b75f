package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/engine"
)

// Nobody is asked: a leader would refuse it, and that would be taken for the end of the session.
func TestACommandThatIsTooLargeIsRefusedAtOnce(t *testing.T) {
	c := New(nil, nil, 1, time.Second)
	err := c.Put(t.Context(), []byte("k"), make([]byte, engine.MaxCommand))
	require.ErrorIs(t, err, ErrNothing)
	require.ErrorContains(t, err, "may have 1048576")
}
