// The examples of how to run nodes have command lines that work, and give a node the time that it needs to drain.

package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// statefulSet is what the test looks at.
type statefulSet struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int
				Containers                    []struct {
					Args           []string
					ReadinessProbe struct {
						HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
					} `yaml:"readinessProbe"`
					Lifecycle struct {
						PreStop struct {
							Exec struct{ Command []string }
						} `yaml:"preStop"`
					}
				}
			}
		}
	}
}

// deployed reads a file among the examples.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/deploy/" + name)
	require.NoError(t, err)
	return string(text)
}

// timeOf parses the flags of a command, and returns the value of one that is a time.
func timeOf(t *testing.T, cmd *cobra.Command, args []string, flag string) time.Duration {
	t.Helper()
	require.NoError(t, cmd.ParseFlags(args))
	require.Empty(t, cmd.Flags().Args())
	d, err := cmd.Flags().GetDuration(flag)
	require.NoError(t, err)
	return d
}

func TestNodesOnKubernetesHaveTimeToDrain(t *testing.T) {
	parts := strings.Split(deployed(t, "statefulset.yaml"), "\n---\n")
	var set statefulSet
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(parts[len(parts)-1], "terminationGracePeriodSeconds", "terminationgraceperiodseconds")), &set))
	require.Equal(t, "StatefulSet", set.Kind)
	pod := &set.Spec.Template.Spec
	container := &pod.Containers[0]
	require.Equal(t, "serve", container.Args[0])
	own := timeOf(t, newServe(), container.Args[1:], "drain-wait")
	stop := container.Lifecycle.PreStop.Exec.Command
	require.Equal(t, []string{"/hustings", "drain"}, stop[:2])
	first := timeOf(t, newDrain(), stop[2:], "wait")
	assert.Greater(t, time.Duration(pod.TerminationGracePeriodSeconds)*time.Second, own+first)
	assert.Equal(t, "/readyz", container.ReadinessProbe.HTTPGet.Path)

	args := strings.ReplaceAll(strings.Join(container.Args[1:], "\n"), "$(POD_NAME)", "hustings-1")
	t.Chdir(t.TempDir())
	args = strings.ReplaceAll(args, "/etc/hustings/certs", ".")
	for _, name := range []string{"ca", "hustings-1"} {
		require.NoError(t, os.WriteFile(name+".crt", nil, 0o600))
	}
	c, err := configured(t, strings.Split(args, "\n")...)
	require.NoError(t, err)
	assert.Equal(t, "hustings-1", c.Node)
	assert.Len(t, c.Members, 3)
	assert.True(t, c.NewIfMissing)
}

func TestNodesUnderSystemdHaveTimeToDrain(t *testing.T) {
	unit := deployed(t, "hustings.service")
	setting := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(unit)
		require.Len(t, found, 2, name)
		return found[1]
	}
	words := strings.Fields(setting("ExecStart"))
	require.Equal(t, "serve", words[1])
	own := timeOf(t, newServe(), words[2:], "drain-wait")
	longest, err := time.ParseDuration(setting("TimeoutStopSec"))
	require.NoError(t, err)
	assert.Greater(t, longest, own)
}
