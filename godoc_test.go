// What a user reads first is short.

package hustings_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twoScreens are as many lines as two screens have.
const twoScreens = 100

func TestThePageOfPackageElectorFitsTwoScreens(t *testing.T) {
	page, err := exec.CommandContext(t.Context(), "go", "doc", "./elector").CombinedOutput()
	require.NoError(t, err, "%s", page)
	assert.LessOrEqual(t, strings.Count(string(page), "\n"), twoScreens, "%s", page)
}
