// A rehearsal: everything that users do with a release, before there is one. It only uses what
// the proxy delivers, and nothing else from this repository.
//
//   - Every module stands alone: it replaces nothing, requires the others in this version,
//     and its go.sum is complete and correct.
//   - In an empty module, with a module cache without our modules, "go get" gets every module
//     except the command, and all their packages compile.
//   - The README's example of an embedding runs there.
//   - "go install" installs the command. "hustings version" names the version and the
//     revision, and the archive for this machine holds the same file.

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// rehearse tags the version, or the newest in the changelog, and tries it.
func rehearse(ctx context.Context, source, version string) error {
	version, _, err := chosen(source, version)
	if err != nil {
		return err
	}
	r, err := newRelease(ctx, source, version)
	if err != nil {
		return err
	}
	defer r.remove()
	if err := r.try(); err != nil {
		return fmt.Errorf("%s cannot be released from %s: %w", version, r.revision, err)
	}
	headline("%s can be released from %s", version, r.revision)
	return nil
}

// try does everything that users do with a tagged release.
func (r *release) try() error {
	for i := range r.modules {
		headline("checking that %s stands alone", r.modules[i].path)
		if err := r.standsAlone(&r.modules[i]); err != nil {
			return err
		}
	}
	// The modules of others are there several times by now, a gigabyte each.
	for _, done := range []string{"modules", "alone", "alone-library"} {
		if err := os.RemoveAll(filepath.Join(r.dir, done)); err != nil {
			return err
		}
	}
	// A new cache, without the modules that were needed for tagging.
	r.env = append(r.env, "GOMODCACHE="+filepath.Join(r.dir, "users-modules"))
	headline("getting the modules and embedding the library, as an engine does")
	if err := r.embed(); err != nil {
		return err
	}
	headline("installing the command, as a user does")
	return r.install()
}

// standsAlone checks a module as the proxy delivers it.
func (r *release) standsAlone(m *module) error {
	dir := filepath.Join(r.dir, "alone", m.dir)
	if m.dir == "." {
		dir = filepath.Join(r.dir, "alone-library")
	}
	where, err := r.command(r.dir, nil, "go", "mod", "download", "-json", m.path+"@"+r.version)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(where), &downloaded); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(downloaded.Dir)); err != nil {
		return err
	}
	mod, err := r.readGoMod(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	for _, old := range mod.Replace {
		err = errors.Join(err, fmt.Errorf("%s@%s replaces %s: modules that depend on it do not get the replacement, and go install refuses it", m.path, r.version, old.Old.Path))
	}
	for _, need := range mod.Require {
		if r.has(need.Path) && need.Version != r.version {
			err = errors.Join(err, fmt.Errorf("%s@%s requires %s in version %s, which is not this one", m.path, r.version, need.Path, need.Version))
		}
	}
	if err != nil {
		return err
	}
	if _, err := r.command(dir, nil, "go", "mod", "tidy", "-diff"); err != nil {
		return fmt.Errorf("go.mod or go.sum of %s@%s is wrong: %w", m.path, r.version, err)
	}
	return nil
}

// embed makes a user's module that gets all of ours and imports all their packages.
func (r *release) embed() error {
	dir := filepath.Join(r.dir, "engine")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err := r.command(dir, nil, "go", "mod", "init", "example.org/engine"); err != nil {
		return err
	}
	var imports strings.Builder
	for i := range r.modules {
		m := &r.modules[i]
		if m.dir == commandDir {
			continue
		}
		if _, err := r.command(dir, nil, "go", "get", m.path+"@"+r.version); err != nil {
			return err
		}
		packages, err := r.command(dir, nil, "go", "list", "-find", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, m.path+"/...")
		if err != nil {
			return err
		}
		for p := range strings.FieldsSeq(packages) {
			if !slices.Contains(strings.Split(p, "/"), "internal") {
				fmt.Fprintf(&imports, "import _ %q\n", p)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "imports.go"), []byte("package main\n\n"+imports.String()), 0o644); err != nil {
		return err
	}
	return r.runExample(dir)
}

// exampleFile holds the embedding that the README shows; a test there compares the two.
const exampleFile = "elector/example_test.go"

// runExample makes a program of the example, and checks its output.
func (r *release) runExample(dir string) error {
	where, err := r.command(dir, nil, "go", "list", "-m", "-f", "{{.Dir}}", r.library())
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(where), exampleFile))
	if err != nil {
		return err
	}
	program := strings.NewReplacer("package elector_test\n", "package main\n", "\nfunc Example() {\n", "\nfunc main() {\n").Replace(string(text))
	_, rest, found := strings.Cut(program, "\t// Output:\n")
	if !found || !strings.Contains(program, "\nfunc main() {\n") {
		return fmt.Errorf("%s has no Example with an Output", exampleFile)
	}
	var want strings.Builder
	for line := range strings.Lines(rest) {
		if said, ok := strings.CutPrefix(line, "\t// "); ok {
			want.WriteString(said)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		return err
	}
	if _, err := r.command(dir, nil, "go", "mod", "tidy"); err != nil {
		return err
	}
	got, err := r.command(dir, nil, "go", "run", ".")
	if err != nil {
		return err
	}
	if got != want.String() {
		return fmt.Errorf("the embedding in %s printed %q, want %q", exampleFile, got, want.String())
	}
	return nil
}

// install installs the command, checks its version, and compares it with the archive.
func (r *release) install() error {
	binary, err := r.build(platform{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return err
	}
	text, err := r.command(r.dir, nil, binary, "version", "--json")
	if err != nil {
		return err
	}
	var says struct{ Module, Version, Revision string }
	if err := json.Unmarshal([]byte(text), &says); err != nil {
		return fmt.Errorf("hustings version --json printed %q: %w", text, err)
	}
	want := says
	want.Module, want.Version, want.Revision = path.Join(r.library(), commandDir), r.version, r.revision
	if says != want {
		return fmt.Errorf("hustings version printed %+v, want %+v", says, want)
	}
	archive, err := r.archive(platform{runtime.GOOS, runtime.GOARCH}, r.dir)
	if err != nil {
		return err
	}
	return sameBinary(archive, binary)
}

// sameBinary compares the first file in an archive with a file.
func sameBinary(archive, binary string) error {
	want, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	packed, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	got, err := first(archive, packed)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the first file in %s differs from the command that go install makes", archive)
	}
	return nil
}

// first unpacks the first file in an archive.
func first(name string, packed []byte) ([]byte, error) {
	if strings.HasSuffix(name, ".zip") {
		archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			return nil, err
		}
		f, err := archive.File[0].Open()
		if err != nil {
			return nil, err
		}
		return io.ReadAll(f)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(unpacked)
	if _, err := archive.Next(); err != nil {
		return nil, err
	}
	return io.ReadAll(archive)
}
