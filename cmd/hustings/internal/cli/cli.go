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

// The exit codes tell a script whether the command line was wrong, the command
// failed, or it was stopped early with nothing wrong so far.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitUnfinished = 3
)

// Main runs the command that args name and returns the exit code. Results go to
// stdout, errors to stderr.
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
		cmd = cmd.Root() // because its help lists the commands
	}
	fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
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
		newSim(), newReplay(), newMerge(), newExplore(), newStress(), newServe(), newStatus(), newWatch(), newTransfer(), newResign(),
		newDrain(), newUndrain(), newProtect(), newBalance(), newNodes(), newTable(),
		newSettings(), newLease(), newStore(), newCerts(), newVersion(debug.ReadBuildInfo), newWatchdog(),
	)
	markErrors(root)
	root.InitDefaultCompletionCmd() // now, because one that cobra adds later accepts an unknown shell
	for _, cmd := range append(root.Commands(), root) {
		if cmd.HasSubCommands() && cmd.RunE == nil {
			needsCommand(cmd)
		}
	}
	return root
}

// markErrors marks the errors of all commands below cmd as runErrors.
func markErrors(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		if below.RunE != nil {
			below.RunE = marked(below.RunE)
		}
		markErrors(below)
	}
}

// needsCommand makes it an error to call cmd without a subcommand, or with an unknown
// one. cobra's own check suggests no similar names when cmd has a RunE, and without
// one it prints help and succeeds.
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
		_ = cmd.Help() // to stderr; if that cannot be written, neither can the error
		return errors.New("no command given")
	}
}

// newHelp is cobra's help command, except that an unknown name is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
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

// unknownCommand suggests commands with similar names.
func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q", name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// A runError occurred while a command ran. Every other error that cobra returns is
// about the command line.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// A usageError is about flags, and was found by the command itself.
type usageError struct{ error }

// An unfinishedError says that a command was stopped before its end.
type unfinishedError struct{ error }

// marked marks the errors of run as runErrors.
func marked(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil || errors.As(err, new(usageError)) {
			return err
		}
		return runError{err}
	}
}
