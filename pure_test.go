// The protocol is a value: it has no goroutine and no channel. No linter refuses these; see
// .golangci.yml for clocks, locks, random sources, input and output.

package hustings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheProtocolHasNoGoroutinesAndNoChannels(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"elector/protocol/*.go", "lease/protocol/*.go", "memberstate/*.go", "rpc/message.go", "rpc/beat.go"} {
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
			}
		}
	}
	assert.Greater(t, checked, 70)
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
