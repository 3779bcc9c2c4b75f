// The modules of the repository, and the order in which they are tagged.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A module is a published module.
type module struct {
	path  string // its import path
	dir   string // in the repository; "." is the library's
	needs []string
}

// tag returns the name of the tag that the go command looks for.
func (m *module) tag(version string) string { return path.Join(m.dir, version) }

// goMod is the part of the output of "go mod edit -json" that is needed.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old struct{ Path string }
	}
}

// readGoMod reads a go.mod file.
func (s *scratch) readGoMod(file string) (m goMod, err error) {
	text, err := s.command(filepath.Dir(file), nil, "go", "mod", "edit", "-json", file)
	if err != nil {
		return m, err
	}
	err = json.Unmarshal([]byte(text), &m)
	return m, err
}

// published reports whether users can depend on the module in dir. They cannot depend on internal
// modules; the benchmarks are only for this repository, and the examples are to be copied.
func published(dir string) bool {
	words := strings.Split(dir, "/")
	return words[0] != "bench" && words[0] != "examples" && !slices.Contains(words, "internal") && !slices.Contains(words, "testdata")
}

// modules finds the published modules in the clone, in the order of their directories.
func (s *scratch) modules() (list []module, err error) {
	files, err := s.git("ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	for file := range strings.FieldsSeq(files) {
		m := module{dir: path.Dir(file)}
		if !published(m.dir) {
			continue
		}
		mod, err := s.readGoMod(filepath.Join(s.repo(), file))
		if err != nil {
			return nil, err
		}
		m.path = mod.Module.Path
		for _, r := range mod.Require {
			m.needs = append(m.needs, r.Path)
		}
		list = append(list, m)
	}
	if i := slices.IndexFunc(list, func(m module) bool { return m.dir == "." }); i < 0 {
		return nil, errors.New("there is no go.mod at the root of the repository")
	}
	return list, nil
}

// stages puts each module into a stage after those of all modules that it needs.
func stages(list []module) (all [][]module, err error) {
	ours := map[string]bool{}
	for i := range list {
		ours[list[i].path] = true
	}
	done := map[string]bool{}
	for len(list) > 0 {
		var stage, rest []module
		for _, m := range list {
			if slices.ContainsFunc(m.needs, func(need string) bool { return ours[need] && !done[need] }) {
				rest = append(rest, m)
			} else {
				stage = append(stage, m)
			}
		}
		if len(stage) == 0 {
			return nil, fmt.Errorf("the modules %s need each other, so none of them can be tagged first", paths(rest))
		}
		for i := range stage {
			done[stage[i].path] = true
		}
		all, list = append(all, stage), rest
	}
	return all, nil
}

func paths(list []module) string {
	var names []string
	for i := range list {
		names = append(names, list[i].path)
	}
	return strings.Join(names, ", ")
}

// loosen makes a module stand on its own: it removes the replacements of modules of this
// repository, and requires them in the version. A replacement of another module is an error.
func (r *release) loosen(m *module) error {
	dir := filepath.Join(r.repo(), m.dir)
	mod, err := r.readGoMod(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	edit := []string{"mod", "edit"}
	for _, old := range mod.Replace {
		if !r.has(old.Old.Path) {
			return fmt.Errorf("%s/go.mod replaces %s, but modules that depend on it would not get the replacement", m.dir, old.Old.Path)
		}
		edit = append(edit, "-dropreplace="+old.Old.Path)
	}
	needs := false
	for _, need := range mod.Require {
		if r.has(need.Path) {
			needs = true
			edit = append(edit, "-require="+need.Path+"@"+r.version)
		} else if strings.HasPrefix(need.Path, r.library()+"/") {
			return fmt.Errorf("%s/go.mod requires %s, which is not published", m.dir, need.Path)
		}
	}
	if !needs {
		return nil
	}
	if _, err := r.command(dir, nil, "go", edit...); err != nil {
		return err
	}
	_, err = r.command(dir, nil, "go", "mod", "tidy")
	return err
}

// stamp writes the revision into the command, for "hustings version".
func (r *release) stamp(m *module) error {
	if m.dir != commandDir {
		return nil
	}
	return os.WriteFile(filepath.Join(r.repo(), m.dir, "internal", "cli", "release.txt"), []byte(r.revision+" "+r.time+"\n"), 0o644)
}
