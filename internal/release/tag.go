// Tagging, stage by stage. Each stage is in the proxy before the next one is made.

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// commandDir is the command's directory in the repository, and its path below the library's.
const commandDir = "cmd/hustings"

// release is a version of all modules, tagged in a scratch clone.
type release struct {
	*scratch
	version  string
	revision string   // the commit of the library's tag
	time     string   // of the revision
	modules  []module // each one after the modules that it needs
}

func (r *release) library() string {
	return r.modules[slices.IndexFunc(r.modules, func(m module) bool { return m.dir == "." })].path
}

func (r *release) has(path string) bool {
	return slices.ContainsFunc(r.modules, func(m module) bool { return m.path == path })
}

// newRelease tags all modules of the commit that is checked out in source.
func newRelease(ctx context.Context, source, version string) (*release, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	s, err := newScratch(ctx, source)
	if err != nil {
		return nil, err
	}
	r := &release{scratch: s, version: version}
	if err = r.clone(source); err == nil {
		err = r.tagAll()
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return r, nil
}

// clone clones the commit. Its author and time are used for all further commits, so that a release
// that is prepared again has the same tags.
func (r *release) clone(source string) error {
	facts, err := r.command(source, nil, "git", "log", "-1", "--format=%H%n%cI%n%cn%n%ce")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(facts), "\n")
	if len(lines) != 4 {
		return fmt.Errorf("unexpected output of git about the last commit: %q", facts)
	}
	r.revision, r.time = lines[0], lines[1]
	r.env = append(r.env, "GIT_AUTHOR_DATE="+r.time, "GIT_COMMITTER_DATE="+r.time)
	if _, err := r.command(source, nil, "git", "clone", "--quiet", "--no-tags", source, r.repo()); err != nil {
		return err
	}
	if _, err := r.git("checkout", "--quiet", "--detach", r.revision); err != nil {
		return err
	}
	if r.modules, err = r.scratch.modules(); err != nil {
		return err
	}
	return errors.Join(r.configure("user.name", lines[2]), r.configure("user.email", lines[3]), r.configure("advice.detachedHead", "false"),
		// The go command gets the modules from here.
		r.configure("url."+fileURL(r.repo())+".insteadOf", "https://"+r.library()))
}

func (r *release) tagAll() error {
	all, err := stages(r.modules)
	if err != nil {
		return err
	}
	r.modules = slices.Concat(all...)
	for _, stage := range all {
		headline("tagging %s as %s", paths(stage), r.version)
		if err := r.tag(stage); err != nil {
			return err
		}
	}
	return nil
}

// tag changes and tags the modules of a stage, and adds them to the proxy.
func (r *release) tag(stage []module) error {
	for i := range stage {
		if err := errors.Join(r.loosen(&stage[i]), r.stamp(&stage[i])); err != nil {
			return err
		}
	}
	// --all, because a module without other requirements may get its first go.sum.
	if _, err := r.git("add", "--all"); err != nil {
		return err
	}
	changes, err := r.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		if _, err := r.git("commit", "--quiet", "--message", "release: "+r.version+" of "+paths(stage)+"\n\nFrom "+r.revision+"."); err != nil {
			return err
		}
	}
	for i := range stage {
		tag := stage[i].tag(r.version)
		if _, err := r.git("tag", "--annotate", "--message", tag, tag); err != nil {
			return err
		}
		if err := r.publish(&stage[i]); err != nil {
			return err
		}
	}
	return nil
}

// publish lets the go command make the module's files for the proxy, from the tag.
func (r *release) publish(m *module) error {
	_, err := r.command(r.dir, []string{"GOPROXY=direct", "GOMODCACHE=" + filepath.Join(r.dir, "tagged")}, "go", "mod", "download", m.path+"@"+r.version)
	return err
}
