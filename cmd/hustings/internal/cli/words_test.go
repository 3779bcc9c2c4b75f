// Words that a command does not take.

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

// runnable returns the commands that do something themselves, of cmd and those below it.
func runnable(cmd *cobra.Command) (all []*cobra.Command) {
	if cmd.Runnable() {
		all = append(all, cmd)
	}
	for _, below := range cmd.Commands() {
		all = append(all, runnable(below)...)
	}
	return all
}

// Whoever forgets --address, or writes a blank for a comma, must not change another node than he means.
func TestAWordTooManyIsRefused(t *testing.T) {
	for _, cmd := range runnable(newRoot()) {
		if strings.Contains(cmd.Use, "...") || cmd.Name() == "help" { // any number, or the name of a command
			continue
		}
		most := len(strings.Fields(cmd.Use)) - 1
		assert.Error(t, cmd.ValidateArgs(slices.Repeat([]string{"stray"}, most+1)), cmd.CommandPath())
	}
}
