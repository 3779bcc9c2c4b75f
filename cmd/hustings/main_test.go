// The command as a process: what its caller gets from the operating system.

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commandVariable makes this test's binary the command, with these arguments.
const commandVariable = "HUSTINGS_TEST_COMMAND"

func TestMain(m *testing.M) {
	if args := os.Getenv(commandVariable); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		return
	}
	os.Exit(m.Run())
}

// executed runs the command in a process of its own.
func executed(t *testing.T, args string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), commandVariable+"="+args)
	var out, wrong strings.Builder
	child.Stdout, child.Stderr = &out, &wrong
	if err := child.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return child.ProcessState.ExitCode(), out.String(), wrong.String()
}

// Scripts look at nothing but the exit code.
func TestTheProcessEndsWithTheCodeOfItsCommand(t *testing.T) {
	code, stdout, stderr := executed(t, "version")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "hustings ")
	assert.Empty(t, stderr)
	for command, want := range map[string]int{"replay missing.txt": 1, "conquer": 2, "explore --members 2 --terms 2 --max-states 100": 3} {
		code, _, stderr := executed(t, command)
		assert.Equal(t, want, code, command)
		assert.Contains(t, stderr, "hustings: ", command)
	}
}
