// Which build runs.

package metrics

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// library is the module whose version counts, in whatever program it is embedded.
const library = "github.com/hustings/hustings"

// buildInfo is a figure that is always 1 and says in its labels what was built: the
// library's version, the program and its version control's revision, and Go's version.
func buildInfo(info *debug.BuildInfo) prometheus.Collector {
	labels := prometheus.Labels{"version": "unknown", "program": "unknown", "revision": "unknown", "go": "unknown"}
	if info != nil {
		labels["version"], labels["program"], labels["go"] = versionOf(info), info.Main.Path, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name("build_info"), Help: "1; what was built stands in the labels.", ConstLabels: labels})
	g.Set(1)
	return g
}

// versionOf is the version of the library in a build. A replacement that has a version
// counts for what it replaces.
func versionOf(info *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != library {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		return m.Version
	}
	return "unknown"
}
