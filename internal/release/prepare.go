// Preparing a release: everything that must be published is left in dist, and nothing is
// published.

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func prepare(ctx context.Context, source, version string) error {
	if version == "" {
		return errors.New("the version is missing, as in: make release VERSION=v0.1.0")
	}
	version, dated, err := chosen(source, version)
	if err != nil {
		return err
	}
	if err := clean(ctx, source, version); err != nil {
		return err
	}
	r, err := newRelease(ctx, source, version)
	if err != nil {
		return err
	}
	defer r.remove()
	for i := range r.modules {
		if err := r.standsAlone(&r.modules[i]); err != nil {
			return err
		}
	}
	dist := filepath.Join(source, "dist")
	to := filepath.Join(dist, version)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := r.fill(to); err != nil {
		return fmt.Errorf("%s is not complete: %w", to, err)
	}
	r.instruct(to, dated)
	return nil
}

// clean refuses to release uncommitted changes, and a version that was already released.
func clean(ctx context.Context, source, version string) error {
	for _, check := range []struct {
		args    []string
		problem string
	}{
		{[]string{"status", "--porcelain"}, "a release is made from a commit, but these changes are not committed; commit or remove them"},
		{[]string{"tag", "--list", version}, "this tag already exists; choose another version"},
	} {
		cmd := exec.CommandContext(ctx, "git", check.args...)
		cmd.Dir, cmd.Stderr = source, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("git %s: %w", strings.Join(check.args, " "), err)
		}
		if len(out) > 0 {
			return fmt.Errorf("%s:\n%s", check.problem, strings.TrimRight(string(out), "\n"))
		}
	}
	return nil
}

// fill makes the archives, a file with the tags, and the checksums of all.
func (r *release) fill(to string) error {
	for _, p := range platforms {
		headline("building for %s on %s", p.os, p.arch)
		if _, err := r.archive(p, to); err != nil {
			return err
		}
	}
	if err := r.bundle(filepath.Join(to, "tags.bundle")); err != nil {
		return err
	}
	return checksums(to)
}

// bundle writes the tags and the commits of the release to a file, from which git fetch reads in
// a clone that has the revision.
func (r *release) bundle(file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	args := []string{"bundle", "create", "--quiet", file, "^" + r.revision}
	for i := range r.modules {
		args = append(args, "refs/tags/"+r.modules[i].tag(r.version))
	}
	_, err = r.git(args...)
	return err
}

// checksums writes a file for sha256sum --check.
func checksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return create(filepath.Join(dir, "SHA256SUMS"), func(w io.Writer) error {
		_, err := io.WriteString(w, list.String())
		return err
	})
}

// instruct prints how to publish the release.
func (r *release) instruct(to string, dated bool) {
	headline("%s is prepared in %s, from %s", r.version, to, r.revision)
	if !dated {
		headline("CHANGELOG.md has no date for this version: write the date there, commit it, and prepare the release again")
	}
	var tags []string
	for i := range r.modules {
		tags = append(tags, r.modules[i].tag(r.version))
	}
	headline("to publish it, in this order:")
	fmt.Printf("\n    git fetch %s 'refs/tags/*:refs/tags/*'\n    git push origin %s\n\nand publish the other files.\n",
		filepath.Join(to, "tags.bundle"), strings.Join(tags, " "))
}
