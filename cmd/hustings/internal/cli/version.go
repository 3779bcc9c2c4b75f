// The version and revision that this binary was built from.

package cli

import (
	_ "embed" // release.txt
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// A version identifies this binary in a bug report. A field that the build did not
// record is "unknown": go run, for example, records no revision.
type version struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Revision string `json:"revision"`
	Time     string `json:"time"`     // of the revision
	Modified bool   `json:"modified"` // the tree differed from the revision
}

// origin is the revision that this source was released from, and its time. "make release"
// writes it into what it tags, because a module from a proxy has no version control.
//
//go:embed release.txt
var origin string

func newVersion(read func() (*debug.BuildInfo, bool)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and revision of this binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := read()
			if !ok {
				return errors.New("this binary holds no build information")
			}
			v := versionOf(info)
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), v)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on one line")
	return cmd
}

// unknown stands for a value that the build did not record.
const unknown = "unknown"

func versionOf(info *debug.BuildInfo) version {
	v := version{Module: unknown, Version: unknown, Go: unknown, Revision: unknown, Time: unknown}
	set := func(field *string, value string) {
		if value != "" {
			*field = value
		}
	}
	set(&v.Module, info.Main.Path)
	set(&v.Version, info.Main.Version)
	set(&v.Go, info.GoVersion)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			set(&v.Revision, s.Value)
		case "vcs.time":
			set(&v.Time, s.Value)
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	// Only a downloaded module has a sum, which proves that it is the tagged source, unchanged.
	if info.Main.Sum != "" && v.Revision == unknown {
		if revision, time, ok := strings.Cut(strings.TrimSpace(origin), " "); ok {
			v.Revision, v.Time = revision, time
		}
	}
	return v
}

// String is the version for people, one fact a line.
func (v version) String() string {
	revision := v.Revision
	if v.Modified {
		revision += " (modified)"
	}
	text := fmt.Sprintf("%s %s\ngo        %s\nrevision  %s\ntime      %s\n", v.Module, v.Version, v.Go, revision, v.Time)
	if v.Revision == unknown {
		text += "(go run and -buildvcs=false record no revision; go build -buildvcs=auto does, in a clone)\n"
	}
	return text
}

// versionText is for --version.
func versionText(read func() (*debug.BuildInfo, bool)) string {
	info, ok := read()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return versionOf(info).String()
}
