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
// that was carried out and failed, and both from one that was stopped before its end
// and has found nothing wrong so far.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitUnfinished = 3
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
	if errors.As(err, new(unfinishedError)) {
		return exitUnfinished
	}
	if failed := (runError{}); errors.As(err, &failed) {
		return exitFailed
	}
	if cmd.Name() == "help" {
		cmd = cmd.Root() // help on help is no help
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
		Version:       versionText(debug.ReadBuildInfo),
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		newSim(), newReplay(), newMerge(), newExplore(), newServe(), newStatus(), newWatch(), newTransfer(), newResign(),
		newLease(), newStore(), newCerts(), newVersion(debug.ReadBuildInfo), newWatchdog(),
	)
	tellAll(root)
	root.InitDefaultCompletionCmd() // cobra would add it later, and then it would let an unknown shell pass
	for _, cmd := range append(root.Commands(), root) {
		if cmd.HasSubCommands() {
			needsCommand(cmd)
		}
	}
	return root
}

// tellAll marks the errors of all commands below one.
func tellAll(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		if below.RunE != nil {
			below.RunE = told(below.RunE)
		}
		tellAll(below)
	}
}

// needsCommand makes cmd, called without one of its commands or with one that it
// has not, an error. cobra's own check names the unknown command but not its
// neighbours when cmd has a RunE, and without one it prints help and succeeds.
func needsCommand(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2 // letters; cobra sets this only in the check that Args replaces
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SetOut(cmd.ErrOrStderr())
		_ = cmd.Help() // to stderr; that it cannot be written, no one would read
		return errors.New("no command given")
	}
}

// newHelp is cobra's help command, but for a name that it does not know: that is
// a wrong command line too.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Say what a command does",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}
			return found.Help()
		},
	}
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

// A usageError is one that a command found in its flags.
type usageError struct{ error }

// An unfinishedError is that a command was stopped before its end.
type unfinishedError struct{ error }

// told marks the errors of run as runErrors.
func told(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil || errors.As(err, new(usageError)) {
			return err
		}
		return runError{err}
	}
}
