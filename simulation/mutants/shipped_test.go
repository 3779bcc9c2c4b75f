package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEverythingThatShipsIsMutated(t *testing.T) {
	h := newTestHunter(t)
	files, err := shipped(h.root)
	require.NoError(t, err)
	for _, file := range []string{
		"elector/host.go", "elector/protocol/node.go", "memberstate/filestore.go", "rpc/grpcrpc/link.go", "lease/protocol/keeper.go",
		"lease/sqllease/store.go", "lease/kv/etcdkv/etcdkv.go", "operator/client.go", "cmd/hustings/internal/node/node.go",
		"internal/office/office.go", "metrics/metrics.go",
	} {
		assert.Contains(t, files, file)
	}
	for _, file := range files {
		assert.False(t, strings.HasSuffix(file, "_test.go"), file)
		assert.NotContains(t, []string{"simulation", "bench", "proto"}, strings.Split(file, "/")[0], file)
	}
}

// A listed directory that does not exist has been moved, and its entry has lost its meaning.
func TestEveryListedDirectoryExists(t *testing.T) {
	h := newTestHunter(t)
	var names []string
	names = append(names, aside...)
	for name := range worlds {
		names = append(names, name)
	}
	for name, tests := range elsewhere {
		names = append(names, name, tests.module)
	}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(h.root, filepath.FromSlash(name)))
		assert.NoError(t, err)
	}
}

func TestAFileBelongsToAWorld(t *testing.T) {
	for file, want := range map[string]string{
		"elector/protocol/node.go": voting, "elector/host.go": neither, "elector/promise.go": voting, "lease/protocol/keeper.go": leasing, "lease/keeper.go": neither,
		"lease/sqllease/store.go": neither, "memberstate/state.go": voting, "rpc/network.go": neither,
	} {
		assert.Equal(t, want, worldOf(file), file)
	}
}

// Every directory has the same share of a sample, even if it has more mutants.
func TestASampleOfEachDirectory(t *testing.T) {
	var from []mutant
	for _, file := range []string{"a/1.go", "a/1.go", "a/2.go", "a/2.go", "b/1.go", "b/1.go", "b/1.go", "c/1.go"} {
		from = append(from, mutant{File: file})
	}
	for turn := range 5 {
		count := map[string]int{}
		for _, m := range someOfEach(from, 2, strings.Repeat("x", turn)) {
			count[path.Dir(m.File)]++
		}
		assert.Equal(t, map[string]int{"a": 2, "b": 2, "c": 1}, count)
	}
}
