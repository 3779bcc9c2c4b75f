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

// described returns the names of all metrics.
func described(t *testing.T) map[string]bool {
	t.Helper()
	descs := make(chan *prometheus.Desc, 100)
	metrics.New(metrics.PerGroup()).Describe(descs)
	close(descs)
	names := map[string]bool{}
	for d := range descs {
		found := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())
		require.NotNil(t, found, d)
		names[found[1]] = true
	}
	return names
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
