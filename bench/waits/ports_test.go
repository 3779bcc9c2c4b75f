package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of two processes with one port only one comes up. Then two of three are a store that works, until one of them is killed.
func TestEachProcessHasPortsOfItsOwn(t *testing.T) {
	firsts, err := freePorts(300, 4)
	require.NoError(t, err)
	taken := map[int]bool{}
	for _, first := range firsts {
		for port := first; port < first+4; port++ {
			assert.False(t, taken[port], "port %d", port)
			taken[port] = true
		}
	}
}
