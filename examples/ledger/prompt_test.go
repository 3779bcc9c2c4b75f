// The prompt and the flags, as a reader uses them.

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
)

// differing is what differs from time to time: how long a command took, and who leads, if that is known already.
var differing = regexp.MustCompile(` {2}\([0-9.]+[µnm]?s\)|n\d in term \d+|nobody`)

func TestAPrompt(t *testing.T) {
	addresses := map[string]string{}
	for i := range 3 {
		addresses[fmt.Sprint("n", i)] = freePair(t)
	}
	var out strings.Builder
	said := [][2]string{
		{"put a 1", "done"},
		{"get a", "1"},
		{"ask a", "1"},
		{"swap a 1 2", "done"},
		{"swap a 1 3", "not done: it has another value"},
		{"get a", "2"},
		{"swap b - 1", "done"},
		{"swap b - 2", "not done: it has another value"},
		{"delete a", "done"},
		{"get a", "no value"},
		{"ask a", "no value"},
		{"leaders", "shard 0: \nshard 1: "},
		{"stop n0", "n0 has ended"},
		{"stop n0", "it is so already"},
		{"put c 3", "done"},
		{"ask c", "3"},
		{"start n0", "n0 serves"},
		{"start n9", "there is no node n9"},
		{"get c", "3"},
		{"put a", "\"put a\" is no command\n" + strings.TrimSuffix(help, "\n")},
		{"frob", "\"frob\" is no command\n" + strings.TrimSuffix(help, "\n")},
		{"help", strings.TrimSuffix(help, "\n")},
	}
	var in strings.Builder
	want := help
	for _, one := range said {
		in.WriteString(one[0] + "\n\n")
		want += "> " + one[1] + "\n> "
	}
	require.NoError(t, runLocal(t.Context(), options{shards: 2, detection: elector.DefaultTiming().Detection()}, addresses, strings.NewReader(in.String()+"quit\nget a\n"), &out))
	assert.Equal(t, want+"> ", differing.ReplaceAllString(out.String(), ""))
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--shards 0":                    "--shards is 0, want 1 to 65536",
		"--nodes n0":                    `--nodes: "n0" is not like n0=127.0.0.1:7100, or is there twice`,
		"--nodes n0=h:1,n0=h:3":         `--nodes: "n0=h:3" is not like n0=127.0.0.1:7100, or is there twice`,
		"--nodes n0=127.0.0.1:60000":    "--nodes: 127.0.0.1:60000: the port has to be a number below 32768, because the next one is used, too",
		"--node n7":                     `--node: "n7" is not among --nodes`,
		"--node n0":                     "--node needs --data, the folder of its data",
		"serve":                         `there is no command "serve", only flags`,
		"--frob":                        "flag provided but not defined: -frob",
		"--node n0 --data /nonexistent": "n0 has no data in /nonexistent; a node that has never run is new: ",
	} {
		err := run(t.Context(), strings.Fields(args))
		require.ErrorContains(t, err, want, args)
		assert.Equal(t, args == "serve" || args == "--frob", errors.Is(err, errUsage), args)
	}
}
