// The scratch directory: a clone, a module proxy made from its tags, and module caches with
// modules only from there and from their authors.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// scratch is a temporary directory, and the environment of programs that run in it. They ignore
// the user's configuration of git and of the go command.
type scratch struct {
	ctx context.Context
	dir string
	env []string
}

func (s *scratch) repo() string { return filepath.Join(s.dir, "repository") }

// proxy returns the go command's download cache, which has the layout of a proxy.
func (s *scratch) proxy() string { return filepath.Join(s.dir, "tagged", "cache", "download") }

func newScratch(ctx context.Context, source string) (*scratch, error) {
	dir, err := os.MkdirTemp("", "hustings-release-")
	if err != nil {
		return nil, err
	}
	s := &scratch{ctx: ctx, dir: dir}
	if err := s.begin(source); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *scratch) remove() {
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
	}
}

func (s *scratch) begin(source string) error {
	for _, e := range os.Environ() {
		// A git hook sets GIT_DIR; and builds are for this machine, unless command is told otherwise.
		if !strings.HasPrefix(e, "GIT_") && !strings.HasPrefix(e, "GOOS=") && !strings.HasPrefix(e, "GOARCH=") {
			s.env = append(s.env, e)
		}
	}
	var user struct{ GOPROXY, GOCACHE, GOMODCACHE, GOTOOLCHAIN string }
	text, err := s.command(source, nil, "go", "env", "-json", "GOPROXY", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN")
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &user); err != nil {
		return err
	}
	s.env = append(s.env,
		"GOENV=off", "GOWORK=off", "GO111MODULE=on", "GOBIN=", "GOPATH="+filepath.Join(s.dir, "path"), "GOMODCACHE="+filepath.Join(s.dir, "modules"),
		"GOCACHE="+user.GOCACHE, "GOTOOLCHAIN="+user.GOTOOLCHAIN,
		// So that binaries and caches do not depend on the directory.
		"GOFLAGS=-trimpath -modcacherw", "CGO_ENABLED=0",
		// Modules of others come from the user's module cache, if it has them. They were checked
		// against the go.sum files of the tree when they were downloaded.
		"GOPROXY="+fileURL(s.proxy())+","+fileURL(filepath.Join(user.GOMODCACHE, "cache", "download"))+","+user.GOPROXY,
		"GOPRIVATE=", "GONOPROXY=", "GONOSUMDB=", "GOSUMDB=off",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(s.dir, "gitconfig"), "GIT_TERMINAL_PROMPT=0",
	)
	// The checkout of a gate may belong to another user.
	return s.configure("safe.directory", "*")
}

func fileURL(path string) string { return "file://" + filepath.ToSlash(path) }

// configure sets an option of git for this scratch.
func (s *scratch) configure(key, value string) error {
	_, err := s.command(s.dir, nil, "git", "config", "--file", filepath.Join(s.dir, "gitconfig"), "--add", key, value)
	return err
}

// git runs git in the clone.
func (s *scratch) git(args ...string) (string, error) {
	return s.command(s.repo(), nil, "git", args...)
}

// command runs a program, with additional environment variables, and returns its output.
func (s *scratch) command(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(s.ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, slices.Concat(s.env, env), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(stdout.String()+stderr.String()))
	}
	return stdout.String(), nil
}
