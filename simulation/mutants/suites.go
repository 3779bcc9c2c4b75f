// Which tests are run for a mutant: those of its package first, then those of the packages of its module that use
// it, the nearest first, and those in other modules.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// suite is the tests of a package.
type suite struct{ module, name string }

// elsewhere are modules whose tests are for packages of other modules, and need databases.
var elsewhere = map[string]suite{
	"lease/kv":               {"lease/internal/storetest", "./..."},
	"lease/kv/etcdkv":        {"lease/internal/storetest", "./..."},
	"lease/kv/rediskv":       {"lease/internal/storetest", "./..."},
	"lease/sqllease":         {"lease/internal/storetest", "./..."},
	"lease/sqllease/pgxwake": {"lease/internal/storetest", "./..."},
}

// unasked are packages whose tests are not run for mutants of others: those of the simulators, which are means of
// their own, and those that start programs, which do not contain the mutant.
var unasked = []string{"/simulation", "/bench", "/cmd/hustings/internal/processes"}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

func (p *listed) tests() int { return len(p.TestGoFiles) + len(p.XTestGoFiles) }

// moduleOf is the directory of the module that a file belongs to, below the root.
func (h *hunter) moduleOf(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(h.root, filepath.FromSlash(dir), "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// list is the packages of a module.
func (h *hunter) list(ctx context.Context, module string) ([]listed, error) {
	if all, ok := h.listed[module]; ok {
		return all, nil
	}
	cmd := h.goTool(ctx, module, "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w\n%s", err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", module, err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			h.listed[module] = all
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// asked are the tests to run for a mutant: those of its own package, and others.
func (h *hunter) asked(ctx context.Context, m *mutant) (own, others []suite, err error) {
	module := h.moduleOf(m.File)
	all, err := h.list(ctx, module)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(h.root, filepath.FromSlash(path.Dir(m.File)))
	target := slices.IndexFunc(all, func(p listed) bool { return p.Dir == dir })
	if target < 0 {
		return nil, nil, fmt.Errorf("module %s has no package in %s", module, path.Dir(m.File))
	}
	for i, p := range nearest(all, all[target].ImportPath) {
		if i == 0 && p == all[target].ImportPath {
			own = append(own, suite{module, p})
		} else {
			others = append(others, suite{module, p})
		}
	}
	if apart, ok := elsewhere[path.Dir(m.File)]; ok {
		others = append([]suite{apart}, others...)
	}
	return own, others, nil
}

// nearest are the packages with tests that use a package, or whose tests do: the package itself, those that import
// it, those that import these, and so on. Of equally near ones, those with few tests come first.
func nearest(all []listed, target string) (names []string) {
	ring := []string{target}
	known := map[string]bool{target: true}
	for len(ring) > 0 {
		var tested []*listed
		var next []string
		for i := range all {
			p := &all[i]
			if slices.Contains(ring, p.ImportPath) && p.tests() > 0 && !slices.ContainsFunc(unasked, func(part string) bool { return strings.Contains(p.ImportPath, part) }) {
				tested = append(tested, p)
			}
			uses := func(other string) bool {
				return slices.Contains(p.Imports, other) || slices.Contains(p.TestImports, other) || slices.Contains(p.XTestImports, other)
			}
			if !known[p.ImportPath] && slices.ContainsFunc(ring, uses) {
				next, known[p.ImportPath] = append(next, p.ImportPath), true
			}
		}
		slices.SortStableFunc(tested, func(a, b *listed) int { return cmp.Compare(a.tests(), b.tests()) })
		for _, p := range tested {
			names = append(names, p.ImportPath)
		}
		ring = next
	}
	return names
}
