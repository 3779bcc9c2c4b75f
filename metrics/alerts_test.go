package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// labelled returns the labels of every metric.
func labelled() map[string][]string {
	descs := make(chan *prometheus.Desc, 100)
	metrics.New(metrics.PerGroup()).Describe(descs)
	close(descs)
	all := map[string][]string{}
	for d := range descs {
		found := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{(.*?)\}`).FindStringSubmatch(d.String())
		all[found[1]] = strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' })
	}
	return all
}

// values returns the values that a label can have, if these are known.
func values() map[string][]string {
	v := map[string][]string{"outcome": {"done", "failed"}, "certificate": {"own", "authority"}}
	for _, r := range []memberstate.Role{memberstate.Candidate, memberstate.Follower, memberstate.Leader, memberstate.Observer} {
		v["role"] = append(v["role"], r.String())
	}
	for d := elector.Drop(1); d.String() != "unknown reason"; d++ {
		v["reason"] = append(v["reason"], d.String())
	}
	for _, r := range grpcrpc.Refusals() {
		v["reason"] = append(v["reason"], r.String())
	}
	return v
}

// The alerts, their tests and the dashboard only use existing labels, with possible values. The
// series of the tests have all labels of the metrics.
func TestAlertsUseExistingLabelsAndValues(t *testing.T) {
	labels, known := labelled(), values()
	ours := []string{"job", "instance", "le"} // these come from Prometheus
	for _, file := range []string{"../docs/alerts.yaml", "../internal/alerts/alerts_test.yaml", "../docs/grafana.json"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		selectors := regexp.MustCompile(`(hustings_\w+)(\{[^}]*\})?`).FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1)
		require.NotEmpty(t, selectors)
		for _, s := range selectors {
			name := strings.TrimSuffix(s[1], "_bucket")
			require.Contains(t, labels, name, file)
			var has []string
			for _, m := range regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`).FindAllStringSubmatch(s[2], -1) {
				if slices.Contains(ours, m[1]) {
					continue
				}
				has = append(has, m[1])
				assert.Contains(t, labels[name], m[1], "%s: %s", file, s[0])
				for value := range strings.SplitSeq(m[3], "|") {
					if known[m[1]] != nil {
						assert.Contains(t, known[m[1]], value, "%s: %s", file, s[0])
					}
				}
			}
			if strings.Contains(s[2], `job="`) { // a series of a test
				assert.ElementsMatch(t, labels[name], has, "%s: %s", file, s[0])
			}
		}
	}
}

// Every alert fires in some test.
func TestEveryAlertIsTested(t *testing.T) {
	rules, err := os.ReadFile("../docs/alerts.yaml")
	require.NoError(t, err)
	tests, err := os.ReadFile("../internal/alerts/alerts_test.yaml")
	require.NoError(t, err)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	assert.Greater(t, len(alerts), 10)
	for _, a := range alerts {
		assert.True(t, strings.Contains(string(tests), `alertname="`+a[1]+`"`), a[1]) //nolint:testifylint // Contains would print all of it
	}
}
