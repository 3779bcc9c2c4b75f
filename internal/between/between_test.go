package between

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryStatementHasAPointAndNoLineMoves(t *testing.T) {
	woven, err := weave("f.go", []byte(`package f

func f(m *sync.Mutex, c chan int) {
	m.Lock()
	defer m.Unlock()
	if x := 1; x > 0 { g() } else if x < 0 {
		h()
	}
	select {
	case <-c:
		g()
	}
}
`))
	require.NoError(t, err)
	assert.Equal(t, `package f; import between "github.com/hustings/hustings/internal/between"

func f(m *sync.Mutex, c chan int) {
	between.Point("f.go:4"); between.Lock(m.TryLock)
	between.Point("f.go:5"); defer between.Unlock(m.Unlock)
	between.Point("f.go:6"); if x := 1; x > 0 { between.Point("f.go:6"); g() } else if x < 0 {
		between.Point("f.go:7"); h()
	}
	between.Point("f.go:9"); select {
	case <-c:
		between.Point("f.go:11"); g()
	}
}
`, string(woven))
	_, err = parser.ParseFile(token.NewFileSet(), "f.go", woven, 0)
	assert.NoError(t, err)
}

// The other one comes at each point; one that needs a lock which is held waits for it.
func TestTheOtherOneComesAtEachPoint(t *testing.T) {
	for _, locked := range []bool{false, true} {
		seen := make(map[int]bool)
		All(t, true, func(*testing.T) World {
			var mu sync.Mutex
			x := 0
			under := func(do func()) {
				if locked {
					Lock(mu.TryLock)
					defer Unlock(mu.Unlock)
				}
				do()
			}
			return World{Judge: func(*testing.T) {}, Operations: []Operation{
				{Name: "two steps", Of: "one", Do: func() {
					Point("before")
					under(func() {
						x = 1
						Point("between")
						x = 2
						Point("after")
					})
				}},
				{Name: "a look", Later: true, Do: func() {
					Point("a look")
					under(func() { seen[x] = true })
				}},
			}}
		})
		assert.Equal(t, !locked, seen[1])
		assert.True(t, seen[0] && seen[2])
	}
}

// A mutant of the package that is tested is what is woven.
func TestAMutantIsWoven(t *testing.T) {
	dir := t.TempDir()
	source, mutant, table := filepath.Join(dir, "f.go"), filepath.Join(dir, "mutant"), filepath.Join(dir, "table")
	require.NoError(t, os.WriteFile(source, []byte("package f\n\nfunc f() { g() }\n"), 0o600))
	require.NoError(t, os.WriteFile(mutant, []byte("package f\n\nfunc f() { h() }\n"), 0o600))
	require.NoError(t, os.WriteFile(table, []byte(`{"Replace":{"`+source+`":"`+mutant+`"}}`), 0o600))
	t.Setenv(Overlay, table)
	there := t.TempDir()
	_, err := weaveAll(there, []string{dir})
	require.NoError(t, err)
	woven, err := os.ReadFile(filepath.Join(there, "0.go"))
	require.NoError(t, err)
	assert.Contains(t, string(woven), "h()")
}

// What ships has no points.
func TestNothingThatShipsImportsThis(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{.Imports}}",
		"../../elector/...", "../../rpc/...", "../../lease/...", "../office")
	out, err := list.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.NotContains(t, string(out), itself)
}
