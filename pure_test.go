// The protocol is a value: it has no goroutine and no channel, and takes no store and no network from the packages that it
// may import. No linter refuses goroutines; see .golangci.yml for clocks, locks, random sources, input and output.

package hustings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	takesPart = regexp.MustCompile(`^(NewNetwork|Network|Link|Transport|BeatTransport|Handler|BeatHandler)$`)
	stores    = regexp.MustCompile(`^(MemStore|Store|Disk|Dir|File|Lock|OSDisk|CountStart|KeepDrained|IsKeptDrained|(Create|Open|Inspect)File\w*|File[A-Z]\w*)$`)
)

func TestTheProtocolHasNoGoroutinesAndNoChannels(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"elector/protocol/*.go", "lease/protocol/*.go", "memberstate/*.go", "rpc/message.go", "rpc/beat.go", "rpc/standing.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			base := filepath.Base(file)
			if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "filestore") || base == "memstore.go" {
				continue // stores have locks, files and goroutines
			}
			checked++
			all := token.NewFileSet()
			source, err := parser.ParseFile(all, file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for node := range ast.Preorder(source) {
				assert.Empty(t, concurrent(node), "%s", all.Position(node.Pos()))
				if filepath.Base(filepath.Dir(file)) == "protocol" {
					assert.Empty(t, noValue(node), "%s", all.Position(node.Pos()))
				}
			}
		}
	}
	assert.Greater(t, checked, 70)
}

// noValue says what of a node is taken from packages rpc and memberstate and is no value; empty if nothing is.
func noValue(node ast.Node) string {
	s, ok := node.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch from, _ := s.X.(*ast.Ident); {
	case from == nil:
	case from.Name == "rpc" && takesPart.MatchString(s.Sel.Name), from.Name == "memberstate" && stores.MatchString(s.Sel.Name):
		return from.Name + "." + s.Sel.Name
	}
	return ""
}

// concurrent says what of a node needs a second goroutine; empty if nothing does.
func concurrent(node ast.Node) string {
	switch n := node.(type) {
	case *ast.GoStmt:
		return "go"
	case *ast.ChanType:
		return "a channel"
	case *ast.SendStmt:
		return "a send"
	case *ast.SelectStmt:
		return "select"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a receive"
		}
	}
	return ""
}
