package node

import (
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program that is being started has copies of its parent's sockets for a moment, so a port may be in use although its
// listener is closed.
func TestAFreePortIsFreeWhileProgramsAreStarted(t *testing.T) {
	var starting sync.WaitGroup
	t.Cleanup(starting.Wait)
	ended := t.Context().Done()
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					assert.NoError(t, exec.Command(os.Args[0], "-test.run", "^$").Run())
				}
			}
		})
	}
	for range 300 {
		free, err := FreeAddresses(3)
		require.NoError(t, err)
		for _, address := range free {
			l, err := net.Listen("tcp", address)
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}
	}
}
