// Nodes that are to hold still.

package cli

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

func TestAProtectedNodeIsNotDrained(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	leader, _ := leading(t, addresses)
	at := slices.Index(addresses, leader)
	lines := succeed(t, "protect", "on", "-a", addresses[0], "-a", addresses[1], "-a", addresses[2])
	require.Len(t, lines, 3)
	for i, line := range lines {
		assert.Equal(t, fmt.Sprintf("n%d at %s hands over nothing of its own accord", i, addresses[i]), line)
	}

	code, stdout, stderr := run("drain", "-a", leader, "--wait", "1h")
	assert.Equal(t, exitUnfinished, code)
	off := "hustings protect off -a " + leader
	assert.Contains(t, stdout, "  1 group to be handed over: the node is protected, and hands over nothing until: "+off+"\n")
	assert.Contains(t, stderr, "still leads 1 group, and goes on draining once it is protected no more: "+off+"\n")
	assert.Regexp(t, ` draining +1 +1 .* protected, drained 0 of 1$`, succeed(t, "nodes", "-a", leader)[1+at])
	assert.Contains(t, succeed(t, "nodes", "-a", leader, "--json")[at], `"protected":true,"drain":{"state":"draining","led":1,"waiting":1,"moving":0,"moved":0,"protected":true}`)

	assert.Equal(t, []string{fmt.Sprintf(`{"address":%q,"node":"n%d","protected":true}`, leader, at)}, succeed(t, "protect", "on", "-a", leader, "--json"))
	assert.Equal(t, []string{fmt.Sprintf(`{"address":%q,"node":"n%d","protected":false}`, leader, at)}, succeed(t, "protect", "off", "-a", leader, "--json"))
	assert.Equal(t, []string{fmt.Sprintf("n%d at %s is protected no more", at, leader)}, succeed(t, "protect", "off", "-a", leader))
	succeed(t, "drain", "-a", leader)
}

func TestProtectSaysWhichNodesDidNotDoIt(t *testing.T) {
	t.Parallel()
	addresses := local(t, node.Config{})
	gone, err := node.FreeAddresses(1)
	require.NoError(t, err)
	code, stdout, stderr := run("protect", "on", "-a", addresses[1], "-a", gone[0])
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, fmt.Sprintf("n1 at %s hands over nothing of its own accord\n", addresses[1]), stdout)
	assert.Contains(t, stderr, gone[0])
	assert.Contains(t, stderr, "connection refused")
	assert.Contains(t, stderr, "1 of 2 nodes failed")
	code, stdout, _ = run("protect", "on", "-a", gone[0], "--json")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, `"protected":false,"error":"`)

	for _, wrong := range [][]string{{"protect"}, {"protect", "maybe"}, {"protect", "on", "off"}} {
		fail(t, exitUsage, wrong...)
	}
}
