// The build that runs.

package metrics

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// library is the module whose version is reported, in whatever program it is embedded.
const library = "github.com/hustings/hustings"

// buildInfo returns a gauge that is always 1 and has labels: the library's version, the program
// and its revision, and Go's version.
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
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name("build_info"), Help: "Always 1; the labels describe the build.", ConstLabels: labels})
	g.Set(1)
	return g
}

// versionOf returns the version of the library in a build. If the library is replaced by a
// module with a version, it returns that version.
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
