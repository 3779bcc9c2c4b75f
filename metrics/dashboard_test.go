package metrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/metrics"
)

// described returns the help texts of all metrics, by their names.
func described(t *testing.T) map[string]string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 100)
	metrics.New(metrics.PerGroup()).Describe(descs)
	close(descs)
	help := map[string]string{}
	for d := range descs {
		found := regexp.MustCompile(`fqName: "(\w+)", help: "([^"]*)"`).FindStringSubmatch(d.String())
		require.NotNil(t, found, d)
		help[found[1]] = found[2]
	}
	return help
}

// Whoever meets a metric reads there what it is, in a sentence of its own.
func TestEveryMetricExplainsItself(t *testing.T) {
	names := map[string]string{}
	for name, help := range described(t) {
		assert.Regexp(t, `^[A-Z0-9].*\.$`, help, name)
		assert.Empty(t, names[help], "%s has the same", name)
		names[help] = name
	}
}

func TestTheDocumentationNamesEveryMetric(t *testing.T) {
	text, err := os.ReadFile("../docs/operation.md")
	require.NoError(t, err)
	for name := range described(t) {
		if name = strings.TrimPrefix(name, "hustings_"); !strings.HasPrefix(name, "transport_") && name != "saved_records_total" {
			assert.True(t, strings.Contains(string(text), "`"+name+"`"), name) //nolint:testifylint // Contains would print all of it
		}
	}
}
