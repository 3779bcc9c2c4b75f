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

	"github.com/hustings/hustings/elector"
)

// statefulSet is what the test looks at.
type statefulSet struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int
				SecurityContext               struct {
					RunAsUser    int  `yaml:"runAsUser"`
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []struct {
					Image          string
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

// deployedSet reads the example of nodes on Kubernetes.
func deployedSet(t *testing.T) (set statefulSet) {
	t.Helper()
	parts := strings.Split(deployed(t, "statefulset.yaml"), "\n---\n")
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(parts[len(parts)-1], "terminationGracePeriodSeconds", "terminationgraceperiodseconds")), &set))
	require.Equal(t, "StatefulSet", set.Kind)
	return set
}

func TestNodesOnKubernetesHaveTimeToDrain(t *testing.T) {
	set := deployedSet(t)
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

// unit returns the setting of a name in the unit of systemd.
func unit(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^`+name+`=(.*)$`).FindAllStringSubmatch(deployed(t, "hustings.service"), -1)
	require.Len(t, found, 1, name)
	return found[0][1]
}

func TestNodesUnderSystemdHaveTimeToDrain(t *testing.T) {
	words := strings.Fields(unit(t, "ExecStart"))
	require.Equal(t, "serve", words[1])
	own := timeOf(t, newServe(), words[2:], "drain-wait")
	longest, err := time.ParseDuration(unit(t, "TimeoutStopSec"))
	require.NoError(t, err)
	assert.Greater(t, longest, own)
}

// A node that waits for the others must not be taken for one that does not start, and one that hangs longer than any pause is ended.
func TestNodesUnderSystemdSayHowTheyAre(t *testing.T) {
	assert.Equal(t, "notify", unit(t, "Type"))
	assert.Equal(t, "main", unit(t, "NotifyAccess"), "and not its program")
	assert.Equal(t, "infinity", unit(t, "TimeoutStartSec"))
	assert.Equal(t, "on-failure", unit(t, "Restart"), "also after the watchdog")
	period, err := time.ParseDuration(unit(t, "WatchdogSec"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, period, 20*elector.DefaultTiming().Detection())
}
