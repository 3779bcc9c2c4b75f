package simulation_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation"
)

func TestTheDocumentOfTheSimulatorListsEveryFaultWithItsClass(t *testing.T) {
	text, err := os.ReadFile("../docs/simulation.md")
	require.NoError(t, err)
	for _, f := range simulation.Faults() {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%v`.*`%v`", f.Class(), f))
		assert.Regexp(t, row, string(text), "%v", f)
	}
}
