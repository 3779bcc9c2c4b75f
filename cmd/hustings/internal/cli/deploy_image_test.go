// The image is built from what is in this repository, and fits the nodes on Kubernetes.

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the directory that the image is built in.
const root = "../../../.."

// instruction is a line of the Dockerfile.
type instruction struct{ word, rest string }

// stages are the instructions of the Dockerfile: those that build the command, and those of the image.
func stages(t *testing.T) (builds, image []instruction) {
	t.Helper()
	var all [][]instruction
	for line := range strings.Lines(deployed(t, "Dockerfile")) {
		word, rest, found := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !found || strings.HasPrefix(word, "#"):
			continue
		case word == "FROM":
			all = append(all, nil)
		}
		require.NotEmpty(t, all, "%s comes before a FROM", word)
		all[len(all)-1] = append(all[len(all)-1], instruction{word, rest})
	}
	require.Len(t, all, 2)
	return all[0], all[1]
}

// only returns what follows a word, which occurs once.
func only(t *testing.T, among []instruction, word string) string {
	t.Helper()
	var found []string
	for _, one := range among {
		if one.word == word {
			found = append(found, one.rest)
		}
	}
	require.Len(t, found, 1, word)
	return found[0]
}

// The image is built with the version of Go that the modules want, from a directory that holds the command.
func TestTheImageIsBuiltFromTheCommand(t *testing.T) {
	builds, image := stages(t)
	run := regexp.MustCompile(`^cd (\S+) && GOWORK=off CGO_ENABLED=0 go build -trimpath -o (\S+) \.$`).FindStringSubmatch(only(t, builds, "RUN"))
	require.Len(t, run, 3, "and it is linked statically, because the base has no C library")
	module, err := os.ReadFile(filepath.Join(root, run[1], "go.mod"))
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	require.Len(t, version, 2)
	from := strings.Fields(only(t, builds, "FROM"))
	require.Equal(t, []string{"golang:" + string(version[1]), "AS"}, from[:2])
	assert.Equal(t, ". .", only(t, builds, "COPY"), "the command is built with the library beside it")

	list := exec.Command("go", "list", "-f", "{{.Name}}", ".")
	list.Dir, list.Env = filepath.Join(root, run[1]), append(os.Environ(), "GOWORK=off")
	name, err := list.Output()
	require.NoError(t, err)
	assert.Equal(t, "main\n", string(name))

	var entry []string
	require.NoError(t, json.Unmarshal([]byte(only(t, image, "ENTRYPOINT")), &entry))
	require.Len(t, entry, 1)
	assert.Equal(t, fmt.Sprintf("--from=%s %s %s", from[2], run[2], entry[0]), only(t, image, "COPY"))
}

// What Kubernetes runs in the image is there, and no user of it is root.
func TestTheImageFitsTheNodesOnKubernetes(t *testing.T) {
	_, image := stages(t)
	set := deployedSet(t)
	pod := &set.Spec.Template.Spec
	var entry []string
	require.NoError(t, json.Unmarshal([]byte(only(t, image, "ENTRYPOINT")), &entry))
	assert.Equal(t, entry[0], pod.Containers[0].Lifecycle.PreStop.Exec.Command[0], "there is no shell, and no PATH")
	assert.Regexp(t, `:nonroot$`, only(t, image, "FROM"))
	user, group, _ := strings.Cut(only(t, image, "USER"), ":")
	assert.Equal(t, []string{fmt.Sprint(pod.SecurityContext.RunAsUser), user}, []string{user, group})
	assert.NotEqual(t, "0", user)
	assert.True(t, pod.SecurityContext.RunAsNonRoot)
	built := regexp.MustCompile(`docker build -f (\S+) -t (\S+) \.`).FindStringSubmatch(deployed(t, "Dockerfile"))
	require.Len(t, built, 3)
	assert.Equal(t, pod.Containers[0].Image, built[2])
	assert.FileExists(t, filepath.Join(root, built[1]))
}
