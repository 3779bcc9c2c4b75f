package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree is a small repository like this one: a library, a module that needs it, and the command,
// which needs both.
var tree = map[string]string{
	"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [v0.2.0] - not yet released\n\n## [v0.1.0] - 2026-03-04\n",
	"README.md":    "read me\n",
	"LICENSE":      "free\n",
	".gitignore":   "/dist/\n",

	"go.mod":            "module github.com/hustings/hustings\n\ngo 1.26.0\n",
	"elector/config.go": "package elector\n\nfunc Leads() bool { return true }\n",
	"elector/example_test.go": "package elector_test\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/hustings/hustings/elector\"\n)\n\n" +
		"func Example() {\n\tfmt.Println(elector.Leads())\n\t// Output:\n\t// true\n}\n",

	"metrics/go.mod": "module github.com/hustings/hustings/metrics\n\ngo 1.26.0\n\nreplace github.com/hustings/hustings => ../\n\n" +
		"require github.com/hustings/hustings v0.0.0-00010101000000-000000000000\n",
	"metrics/metrics.go": "package metrics\n\nimport \"github.com/hustings/hustings/elector\"\n\nvar Leads = elector.Leads()\n",

	"cmd/hustings/go.mod": "module github.com/hustings/hustings/cmd/hustings\n\ngo 1.26.0\n\n" +
		"replace github.com/hustings/hustings => ../..\n\nreplace github.com/hustings/hustings/metrics => ../../metrics\n\n" +
		"require github.com/hustings/hustings/metrics v0.0.0-00010101000000-000000000000\n\n" +
		"require github.com/hustings/hustings v0.0.0-00010101000000-000000000000 // indirect\n",
	"cmd/hustings/main.go": `package main

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"

	"github.com/hustings/hustings/cmd/hustings/internal/cli"
	_ "github.com/hustings/hustings/metrics"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	revision, _, _ := strings.Cut(cli.Origin, " ")
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"module": info.Main.Path, "version": info.Main.Version, "revision": revision})
}
`,
	"cmd/hustings/internal/cli/cli.go":      "package cli\n\nimport _ \"embed\"\n\n//go:embed release.txt\nvar Origin string\n",
	"cmd/hustings/internal/cli/release.txt": "unknown unknown\n",

	// No module outside of the repository depends on these.
	"bench/go.mod":          "module github.com/hustings/hustings/bench\n\ngo 1.26.0\n\nreplace example.org/other => ./other\n",
	"internal/tools/go.mod": "module github.com/hustings/hustings/internal/tools\n\ngo 1.26.0\n",
}

// repository commits the tree, with changes, and returns its directory. Only make rehearse runs
// these tests.
func repository(t *testing.T, changes map[string]string) string {
	t.Helper()
	if os.Getenv("HUSTINGS_TEST_LONG") == "" {
		t.Skip("only make rehearse runs this test, because it needs git and many runs of the go command")
	}
	dir := t.TempDir()
	for _, files := range []map[string]string{tree, changes} {
		for name, text := range files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "--message", "all")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// tagged returns a release of the tree, which a test may spoil.
func tagged(t *testing.T) *release {
	t.Helper()
	r, err := newRelease(t.Context(), repository(t, nil), "v0.2.0")
	require.NoError(t, err)
	t.Cleanup(r.remove)
	return r
}

func TestAReleaseOfGoodModulesIsRehearsed(t *testing.T) {
	dir := repository(t, nil)
	require.NoError(t, rehearse(t.Context(), dir, ""))
	assert.Empty(t, git(t, dir, "status", "--porcelain"))
	assert.Empty(t, git(t, dir, "tag"))
}

// The library is tagged as it is; each other module is tagged after the modules that it needs,
// and stands alone.
func TestModulesAreTaggedAfterThoseThatTheyNeed(t *testing.T) {
	r := tagged(t)
	assert.Equal(t, r.revision, git(t, r.repo(), "rev-parse", "v0.2.0^{commit}"))
	assert.Equal(t, r.revision, git(t, r.repo(), "rev-parse", "metrics/v0.2.0^{commit}^"))
	assert.Equal(t, git(t, r.repo(), "rev-parse", "metrics/v0.2.0^{commit}"), git(t, r.repo(), "rev-parse", "cmd/hustings/v0.2.0^{commit}^"))
	assert.Len(t, strings.Fields(git(t, r.repo(), "tag")), 3, "the benchmarks and the tools are not tagged")
	mod := git(t, r.repo(), "show", "cmd/hustings/v0.2.0:cmd/hustings/go.mod")
	assert.NotContains(t, mod, "replace")
	assert.Contains(t, mod, "github.com/hustings/hustings/metrics v0.2.0")
	assert.Contains(t, mod, "github.com/hustings/hustings v0.2.0")
}

func TestAReleaseThatIsPreparedAgainHasTheSameTags(t *testing.T) {
	dir := repository(t, nil)
	var tags []string
	for range 2 {
		r, err := newRelease(t.Context(), dir, "v0.2.0")
		require.NoError(t, err)
		tags = append(tags, git(t, r.repo(), "show-ref", "--tags"))
		r.remove()
	}
	assert.Equal(t, tags[0], tags[1])
}

// The rehearsal finds tags that were made incorrectly.
func TestProblemsOfATaggedModuleAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, wrong, problem string
	}{
		"a replace is left":    {"metrics/go.mod", "go 1.26.0\n", "go 1.26.0\n\nreplace github.com/hustings/hustings => ../\n", "metrics@v0.2.0 replaces github.com/hustings/hustings"},
		"another version":      {"metrics/go.mod", "hustings v0.2.0", "hustings v0.1.9", "metrics@v0.2.0 requires github.com/hustings/hustings in version v0.1.9"},
		"a line of go.sum":     {"metrics/go.sum", "github.com/hustings/hustings v0.2.0 h1:", "example.org/other v0.2.0 h1:", "go.sum of github.com/hustings/hustings/metrics@v0.2.0 is wrong"},
		"a wrong sum":          {"metrics/go.sum", "hustings v0.2.0 h1:", "hustings v0.2.0 h1:A", "checksum mismatch"},
		"no revision":          {"cmd/hustings/internal/cli/release.txt", " ", "x ", "hustings version printed"},
		"a version of its own": {"cmd/hustings/main.go", "info.Main.Version", `"v0.1.0"`, "Version:v0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tagged(t)
			r.spoil(t, c.file, c.old, c.wrong)
			assert.ErrorContains(t, r.try(), c.problem)
		})
	}
}

// spoil changes a file in the tag of its module.
func (r *release) spoil(t *testing.T, file, old, wrong string) {
	t.Helper()
	name := filepath.Join(r.repo(), file)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(string(text), old, wrong)), 0o644))
	_, err = r.git("commit", "--quiet", "--all", "--message", "spoilt")
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "tagged")))
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "modules")))
	for i := range r.modules {
		m := &r.modules[i]
		if strings.HasPrefix(file, m.dir+"/") {
			_, err = r.git("tag", "--force", "--annotate", "--message", "spoilt", m.tag(r.version))
			require.NoError(t, err)
		}
		require.NoError(t, r.publish(m))
	}
}

// Problems of the tree would also be in the tags.
func TestACommitThatUsersCannotUseIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, wrong, problem string
	}{
		"what does not compile":  {"metrics/metrics.go", "elector.Leads()", "elector.Follows()", "undefined: elector.Follows"},
		"an example that fails":  {"elector/config.go", "true", "false", `printed "false\n", want "true\n"`},
		"an example that is not": {"elector/example_test.go", "// Output:", "//", "has no Example with an Output"},
		"no file for the stamp":  {"cmd/hustings/internal/cli/cli.go", "//go:embed release.txt", "", "hustings version printed"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, tree[c.file], c.old)
			dir := repository(t, map[string]string{c.file: strings.ReplaceAll(tree[c.file], c.old, c.wrong)})
			assert.ErrorContains(t, rehearse(t.Context(), dir, ""), c.problem)
		})
	}
}

func TestAModuleThatReplacesThoseOfOthersIsRefused(t *testing.T) {
	dir := repository(t, map[string]string{"metrics/go.mod": tree["metrics/go.mod"] + "\nreplace example.org/other => ./other\n"})
	assert.ErrorContains(t, rehearse(t.Context(), dir, ""), "metrics/go.mod replaces example.org/other")
}

func TestAModuleThatNeedsAnUnpublishedOneIsRefused(t *testing.T) {
	dir := repository(t, map[string]string{"metrics/go.mod": tree["metrics/go.mod"] + "\nrequire github.com/hustings/hustings/bench v0.0.0\n"})
	assert.ErrorContains(t, rehearse(t.Context(), dir, ""), "requires github.com/hustings/hustings/bench, which is not published")
}

func TestModulesThatNeedEachOtherHaveNoOrder(t *testing.T) {
	_, err := stages([]module{{path: "a"}, {path: "b", needs: []string{"a", "c"}}, {path: "c", needs: []string{"b"}}})
	assert.ErrorContains(t, err, "b, c need each other")
}

// The changelog decides which versions there are.
func TestVersionsThatTheChangelogDoesNotHaveAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ changelog, version, want, problem string }{
		{tree["CHANGELOG.md"], "", "v0.2.0", ""},
		{tree["CHANGELOG.md"], "v0.1.0", "v0.1.0", ""},
		{tree["CHANGELOG.md"], "v0.3.0", "", `no section "## [v0.3.0]"`},
		{tree["CHANGELOG.md"], "0.1.0", "", "is not a version"},
		{tree["CHANGELOG.md"], "v2.0.0", "", "one below v2"},
		{tree["CHANGELOG.md"], "v0.1.0; rm", "", "is not a version"},
		{"## [Unreleased]\n", "", "", "no section of a version"},
		{"## [vNext]\n", "", "", `"vNext", which is not a version`},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(c.changelog), 0o644))
		got, dated, err := chosen(dir, c.version)
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.want == "v0.1.0", dated)
		if c.problem != "" {
			assert.ErrorContains(t, err, c.problem)
		} else {
			assert.NoError(t, err)
		}
	}
}

// A release needs an explicit version, and refuses uncommitted changes.
func TestOnlyACommitIsReleasedAndOnlyOnce(t *testing.T) {
	dir := repository(t, nil)
	assert.ErrorContains(t, prepare(t.Context(), dir, ""), "the version is missing")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package x\n"), 0o644))
	assert.ErrorContains(t, prepare(t.Context(), dir, "v0.2.0"), "?? new.go")
	require.NoError(t, os.Remove(filepath.Join(dir, "new.go")))
	git(t, dir, "tag", "v0.2.0")
	assert.ErrorContains(t, prepare(t.Context(), dir, "v0.2.0"), "this tag already exists")
	assert.NoDirExists(t, filepath.Join(dir, "dist"))
}

// With the files in dist alone, the tags can be published and the files checked.
func TestAPreparedReleaseCanBePublished(t *testing.T) {
	defer func(all []platform) { platforms = all }(platforms)
	platforms = []platform{{"linux", "amd64"}, {"windows", "arm64"}}
	dir := repository(t, nil)
	dist := filepath.Join(dir, "dist", "v0.2.0")
	var sums [2]string
	for i := range sums {
		require.NoError(t, prepare(t.Context(), dir, "v0.2.0"))
		text, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
		require.NoError(t, err)
		sums[i] = string(text)
	}
	assert.Equal(t, sums[0], sums[1], "a repeated preparation makes the same files")
	assert.Equal(t, 5, strings.Count(sums[0], "\n"))
	assert.Empty(t, git(t, dir, "status", "--porcelain"))
	var names []string
	entries, err := os.ReadDir(dist)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{
		"SHA256SUMS", "hustings_v0.2.0_linux_amd64.cdx.json", "hustings_v0.2.0_linux_amd64.tar.gz",
		"hustings_v0.2.0_windows_arm64.cdx.json", "hustings_v0.2.0_windows_arm64.zip", "tags.bundle",
	}, names)

	revision := git(t, dir, "rev-parse", "HEAD")
	text, err := os.ReadFile(filepath.Join(dist, "hustings_v0.2.0_windows_arm64.cdx.json"))
	require.NoError(t, err)
	var b bill
	require.NoError(t, json.Unmarshal(text, &b))
	assert.Equal(t, &pedigree{[]commit{{revision}}}, b.Metadata.Component.Pedigree)
	assert.Equal(t, "v0.2.0", b.Metadata.Component.Version)
	assert.Len(t, b.Components, 3, "Go's library, the library and metrics")

	git(t, dir, "fetch", "--quiet", filepath.Join(dist, "tags.bundle"), "refs/tags/*:refs/tags/*")
	assert.Equal(t, "cmd/hustings/v0.2.0\nmetrics/v0.2.0\nv0.2.0", git(t, dir, "tag"))
}
