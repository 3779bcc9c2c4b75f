// The results so far, in a file: hunting all mutants takes long, and a hunt that was stopped goes on from there. A
// result holds only for the sources that it was found with.

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// results are those for one version of the sources, in the order in which they were found.
type results struct {
	file  *os.File // nil: they are not kept
	known map[string]result
}

// heading is the first line of the file.
type heading struct {
	Sources string `json:"sources"`
}

// openResults reads the results in a file. If they are for other sources, they are of no use and are removed.
func openResults(name, root string) (*results, error) {
	r := &results{known: map[string]result{}}
	if name == "" {
		return r, nil
	}
	sources, err := sourcesOf(root)
	if err != nil {
		return nil, err
	}
	if r.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(r.file)
	whole := int64(0)
	for first := true; lines.Scan(); first = false {
		if first {
			var of heading
			if err := json.Unmarshal(lines.Bytes(), &of); err != nil || of.Sources != sources {
				break
			}
		} else {
			var one result
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				break // the hunt was interrupted while it wrote this
			}
			r.known[one.Mutant] = one
		}
		whole += int64(len(lines.Bytes()) + 1)
	}
	_, seek := r.file.Seek(whole, 0)
	if err := errors.Join(lines.Err(), r.file.Truncate(whole), seek); err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, r.file.Close()))
	}
	if whole == 0 {
		err = json.NewEncoder(r.file).Encode(heading{sources})
	}
	return r, err
}

// add keeps a result.
func (r *results) add(one result) error {
	r.known[one.Mutant] = one
	if r.file == nil {
		return nil
	}
	return json.NewEncoder(r.file).Encode(one)
}

func (r *results) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// sourcesOf is a checksum of the sources, tests included.
func sourcesOf(root string) (string, error) {
	var names []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "go.mod"):
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(name, root), len(text), text) // it never fails
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
