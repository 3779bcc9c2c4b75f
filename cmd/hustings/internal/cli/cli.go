// Package cli holds the commands of hustings. The command line is data here:
// arguments in, two writers and an exit code out, so that tests need no process.
package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes. A script can tell a command that it wrote wrongly from one
// that was carried out and failed.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs the command that args name and returns the code to exit with. What
// was asked for goes to stdout; what went wrong goes to stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "hustings: %v\n", err)
	if failed := (runError{}); errors.As(err, &failed) {
		return exitFailed
	}
	fmt.Fprintf(stderr, "Run '%s --help' for what there is.\n", cmd.CommandPath())
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "hustings",
		Short: "Leader election for replicated storage engines",
		// Main reports errors, once and on one line; the usage text would bury them.
		SilenceErrors: true,
		SilenceUsage:  true,
		// cobra's own check names the unknown command but not its neighbours
		// when the root has a RunE, and without one it prints help and succeeds.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			_ = cmd.Help() // to stderr; that it cannot be written, no one would read
			return errors.New("no command given")
		},
	}
	root.SuggestionsMinimumDistance = 2 // letters; cobra sets this only in the check that Args replaces
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newVersion(debug.ReadBuildInfo))
	for _, cmd := range root.Commands() {
		cmd.RunE = told(cmd.RunE)
	}
	return root
}

// unknownCommand names the commands that may have been meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q", name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// A runError is one that a command met while it ran. Everything else that cobra
// returns was wrong with the command line.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// told marks the errors of run as runErrors.
func told(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return runError{err}
		}
		return nil
	}
}
