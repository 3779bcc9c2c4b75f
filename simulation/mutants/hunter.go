// Building a mutant, and looking for what it breaks.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// hunter builds mutants in a folder of its own.
type hunter struct {
	root  string // of the module
	work  string
	limit time.Duration
}

func newHunter(limit time.Duration) (*hunter, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	work, err := os.MkdirTemp("", "mutants-")
	return &hunter{root: filepath.Dir(strings.TrimSpace(string(out))), work: work, limit: limit}, err
}

func (h *hunter) close() { _ = os.RemoveAll(h.work) } // it is a temporary folder

// hunt builds a mutant and lets the simulator look at it.
func (h *hunter) hunt(ctx context.Context, m *mutant) (result, error) {
	overlay, err := h.overlay(m)
	if err != nil {
		return result{}, err
	}
	binary := filepath.Join(h.work, "hunt")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./simulation/mutants/hunt")
	build.Dir = h.root
	if out, err := build.CombinedOutput(); err != nil {
		return result{}, fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return h.let(ctx, m, binary)
}

// overlay writes the mutant's source, and says where it stands for which.
func (h *hunter) overlay(m *mutant) (string, error) {
	name := filepath.Join(h.root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return "", fmt.Errorf("it does not apply any more: in %s there are %d of %q", m.File, n, m.Old)
	}
	broken := filepath.Join(h.work, filepath.Base(m.File))
	if err := os.WriteFile(broken, bytes.Replace(source, []byte(m.Old), []byte(m.New), 1), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {name: broken}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(h.work, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// let runs the simulator on the mutant. If it panics or does not end, that is
// noticed, too.
func (h *hunter) let(ctx context.Context, m *mutant, binary string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*h.limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-for", h.limit.String())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	r := result{Mutant: m.Name}
	if cmd.ProcessState != nil {
		r.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.Noticed = "it hangs"
		return r, nil
	case err != nil && bytes.Contains(errs.Bytes(), []byte("panic")):
		r.Noticed = "it panics"
		return r, nil
	case err != nil:
		return r, fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	var found struct {
		Invariant string `json:"invariant"`
		Seeds     uint64 `json:"seeds"`
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return r, err
	}
	r.Noticed, r.Seeds = found.Invariant, found.Seeds
	return r, nil
}
