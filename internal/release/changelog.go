// The versions that can be released: those with a section in the changelog, as in
//
//	## [v0.1.0] - 2026-03-04
//	## [v0.1.0] - not yet released

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

var (
	// The major version 2 would need other module paths.
	versionForm = regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z][0-9A-Za-z.-]*)?$`)
	section     = regexp.MustCompile(`(?m)^## \[(v[^\]]+)\](?: - (.*))?$`)
	day         = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
)

// chosen returns the version if the changelog in dir has it. An empty version stands for the
// newest. dated says whether its section has a date.
func chosen(dir, version string) (_ string, dated bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return "", false, err
	}
	sections := section.FindAllStringSubmatch(string(text), -1)
	i := slices.IndexFunc(sections, func(s []string) bool { return version == "" || s[1] == version })
	switch {
	case version != "" && !versionForm.MatchString(version):
		return "", false, fmt.Errorf("%q is not a version of these modules, want one below v2 such as v0.1.0 or v1.2.3-rc.1", version)
	case i < 0 && version == "":
		return "", false, fmt.Errorf("CHANGELOG.md has no section of a version, such as %q", "## [v0.1.0] - not yet released")
	case i < 0:
		return "", false, fmt.Errorf("CHANGELOG.md has no section %q: move the entries under Unreleased there", "## ["+version+"]")
	case !versionForm.MatchString(sections[i][1]):
		return "", false, fmt.Errorf("CHANGELOG.md has a section %q, which is not a version of these modules", sections[i][1])
	}
	return sections[i][1], day.MatchString(sections[i][2]), nil
}
