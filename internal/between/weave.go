// Rebuilding a package with points between its statements.

package between

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Overlay is the environment variable that names the overlay with which a test was built, if it was.
const Overlay = "HUSTINGS_TEST_OVERLAY"

const (
	itself = "github.com/hustings/hustings/internal/between"
	woven  = "HUSTINGS_TEST_WOVEN" // set in the tests of a rebuilt package
)

// Rebuild rebuilds the package that is tested, and those in other directories, with points, runs the test again in
// there, and returns false. In there it returns true. What is rebuilt is not tried under the race detector, which
// finds other things.
func Rebuild(t *testing.T, directories ...string) bool {
	t.Helper()
	if os.Getenv(woven) != "" {
		return true
	}
	if testing.Short() {
		t.Skip("all windows take long")
	}
	overlay, err := weaveAll(t.TempDir(), append([]string{"."}, directories...))
	if err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-timeout", "3m", "-overlay", overlay, "-run", "^"+t.Name()+"$", "-v", ".")
	again.Env = append(os.Environ(), woven+"=1")
	out, err := again.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	return false
}

// overlay says which source is read instead of another one, as the go command's flag does.
type overlay struct{ Replace map[string]string }

// weaveAll weaves all sources of packages, and returns the overlay's file. The test may run with an overlay itself,
// which has a mutant.
func weaveAll(there string, directories []string) (string, error) {
	var mutant overlay
	if name := os.Getenv(Overlay); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(text, &mutant); err != nil {
			return "", err
		}
	}
	all := overlay{make(map[string]string)}
	for _, directory := range directories {
		full, err := filepath.Abs(directory)
		if err != nil {
			return "", err
		}
		sources, err := filepath.Glob(filepath.Join(full, "*.go"))
		if err != nil {
			return "", err
		}
		for _, path := range sources {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			to := filepath.Join(there, fmt.Sprint(len(all.Replace), ".go"))
			if err := weaveFile(filepath.Base(path), cmp.Or(mutant.Replace[path], path), to); err != nil {
				return "", err
			}
			all.Replace[path] = to
		}
	}
	table, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	name := filepath.Join(there, "overlay.json")
	return name, os.WriteFile(name, table, 0o600)
}

func weaveFile(name, path, to string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := weave(name, source)
	if err != nil {
		return err
	}
	return os.WriteFile(to, changed, 0o600)
}

// weave puts a point before each statement of a source, and has its locks wait as channels do. No line moves.
func weave(name string, source []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var changes []change
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	points := func(body []ast.Stmt) {
		for _, s := range body {
			changes = append(changes, change{offset(s.Pos()), offset(s.Pos()), fmt.Sprintf("between.Point(%q); ", fmt.Sprint(name, ":", files.Position(s.Pos()).Line))})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if !ofClauses(n) {
				points(n.List)
			}
		case *ast.CaseClause:
			points(n.Body)
		case *ast.CommClause:
			points(n.Body)
		case *ast.CallExpr:
			if method, isMethod := n.Fun.(*ast.SelectorExpr); isMethod && len(n.Args) == 0 {
				if by, of := waits(method.Sel.Name); by != "" {
					changes = append(changes,
						change{offset(n.Pos()), offset(n.Pos()), "between." + by + "("},
						change{offset(method.Sel.Pos()), offset(n.End()), of + ")"})
				}
			}
		}
		return true
	})
	if len(changes) == 0 {
		return source, nil
	}
	end := offset(file.Name.End())
	changes = append(changes, change{end, end, fmt.Sprintf("; import between %q", itself)})
	return apply(source, changes), nil
}

// waits is the function of this package that is called instead of a lock's method, and what it is passed.
func waits(method string) (by, of string) {
	switch method {
	case "Lock", "RLock":
		return "Lock", "Try" + method
	case "Unlock", "RUnlock":
		return "Unlock", method
	}
	return "", ""
}

// ofClauses says whether a block is that of a switch or select.
func ofClauses(b *ast.BlockStmt) bool {
	return slices.ContainsFunc(b.List, func(s ast.Stmt) bool {
		switch s.(type) {
		case *ast.CaseClause, *ast.CommClause:
			return true
		}
		return false
	})
}

// change replaces a part of a source.
type change struct {
	from, to int
	by       string
}

func apply(source []byte, changes []change) []byte {
	slices.SortStableFunc(changes, func(a, b change) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, c := range changes {
		out.Write(source[at:c.from])
		out.WriteString(c.by)
		at = c.to
	}
	out.Write(source[at:])
	return out.Bytes()
}
