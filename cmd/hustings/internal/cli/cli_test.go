package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/effort"
)

// fewer returns the size of a campaign or of a search. With -short, as under the race detector,
// which makes them ten times as expensive and has seen all goroutines soon, it is the small one.
func fewer(whole, small string) string {
	if testing.Short() || !effort.Whole() {
		return small
	}
	return whole
}

func run(args ...string) (code int, stdout, stderr string) {
	var out, err strings.Builder
	if args == nil {
		args = []string{} // because cobra takes the test's own for nil
	}
	code = Main(args, &out, &err)
	return code, out.String(), err.String()
}

func TestAWrongCommandLineIsAnsweredWithHelpAndCodeTwo(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"no command":        {nil, []string{"no command given", "version", "Run 'hustings --help'"}},
		"unknown command":   {[]string{"conquer"}, []string{`unknown command "conquer"`, "Run 'hustings --help'"}},
		"mistyped command":  {[]string{"versionn"}, []string{`unknown command "versionn"`, "did you mean version?"}},
		"unknown flag":      {[]string{"--loud"}, []string{"--loud", "Run 'hustings --help'"}},
		"flag of a command": {[]string{"version", "--loud"}, []string{"--loud", "Run 'hustings version --help'"}},
		"too many words":    {[]string{"version", "now"}, []string{"now", "Run 'hustings version --help'"}},
		"unknown help":      {[]string{"help", "versionn"}, []string{`unknown command "versionn"`, "did you mean version?", "Run 'hustings --help'"}},
		"unknown shell":     {[]string{"completion", "fsh"}, []string{`unknown command "fsh"`, "Run 'hustings completion --help'"}},
		"no shell":          {[]string{"completion"}, []string{"no command given", "zsh", "Run 'hustings completion --help'"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(c.args...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, stdout, "errors go to stderr")
			for _, s := range c.says {
				assert.Contains(t, stderr, s)
			}
		})
	}
}

func TestHelpIsAskedForAndSucceeds(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"help", "version"}, {"version", "--help"}} {
		code, stdout, stderr := run(args...)
		assert.Equal(t, exitOK, code, args)
		assert.Contains(t, stdout, "Usage:", args)
		assert.Empty(t, stderr, args)
	}
}

func TestAnErrorOfARunningCommandKeepsItsCause(t *testing.T) {
	cause := errors.New("disk full")
	err := marked(func(*cobra.Command, []string) error { return cause })(nil, nil)
	assert.ErrorAs(t, err, new(runError))
	assert.ErrorIs(t, err, cause)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAFailureIsCodeOneWithoutTheHelp(t *testing.T) {
	var stderr strings.Builder
	code := Main([]string{"version"}, brokenPipe{}, &stderr)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, "hustings: broken pipe\n", stderr.String())
}

// Whoever asks for the help of a command reads what it does, an example, and what each of its flags means.
func TestEveryCommandIsExplained(t *testing.T) {
	simple := []string{"ca", "member", "operator", "show", "lease status", "resign", "transfer"} // a line and the flags say it all
	var explained func(*cobra.Command)
	explained = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "completion" { // which is cobra's
			return
		}
		assert.NotEmpty(t, cmd.Short, cmd.CommandPath())
		if cmd.Runnable() && !cmd.HasSubCommands() && !slices.Contains([]string{"help", "version"}, cmd.Name()) {
			isSimple := slices.ContainsFunc(simple, func(end string) bool { return strings.HasSuffix(cmd.CommandPath(), " "+end) })
			assert.Equal(t, isSimple, cmd.Long == "", cmd.CommandPath())
			assert.Contains(t, cmd.Example, cmd.CommandPath(), "an example of it")
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { assert.NotEmpty(t, flag.Usage, "%s --%s", cmd.CommandPath(), flag.Name) })
		for _, below := range cmd.Commands() {
			explained(below)
		}
	}
	explained(newRoot())
}
