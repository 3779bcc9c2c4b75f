package stress

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without free file descriptors no node can listen.
func TestARunWhoseNodesCannotBeConnectedFails(t *testing.T) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	defer func() { assert.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}))
	r, err := Run(t.Context(), small(func(o *Options) { o.TCP = true }))
	require.ErrorIs(t, err, syscall.EMFILE)
	assert.Nil(t, r)
}
