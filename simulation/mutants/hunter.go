// Building a mutant, and having one means after the other look at it.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// hunter builds mutants in a folder of its own.
type hunter struct {
	root    string // of the module
	work    string
	overlay string          // which source stands for which
	binary  string          // the command hunt, with the bug
	sound   map[string]bool // the packages whose tests have passed without one
}

func newHunter() (*hunter, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	work, err := os.MkdirTemp("", "mutants-")
	return &hunter{
		root: filepath.Dir(strings.TrimSpace(string(out))), work: work,
		overlay: filepath.Join(work, "overlay.json"), binary: filepath.Join(work, "hunt"),
		sound: map[string]bool{},
	}, err
}

func (h *hunter) close() { _ = os.RemoveAll(h.work) } // it is a temporary folder

// huntAll hunts one mutant after the other until the context ends, and says so as it
// goes. Those that do not compile are counted where that can be forgiven.
func (h *hunter) huntAll(ctx context.Context, all []mutant, ways []means, forgive bool, progress io.Writer) (report, error) {
	total := newReport()
	for i := range all {
		m := &all[i]
		r, err := h.hunt(ctx, m, ways)
		switch {
		case ctx.Err() != nil:
			return total, nil
		case forgive && errors.Is(err, errNotCompiled):
			total.Discarded++
			continue
		case err != nil:
			return total, fmt.Errorf("%s: %w", m.Name, err)
		case m.Equivalent != "":
			total.Mutants++
			total.Equivalent[m.Name] = m.Equivalent
			continue
		}
		_, _ = fmt.Fprintf(progress, "%3d of %d  %-40s %-9s %-32s %8d seeds %8d states %4d steps %6.1f CPU s\n", i+1, len(all), r.Mutant, r.Means, r.Noticed, r.Seeds, r.States, r.Steps, r.CPU)
		total.add(r)
	}
	return total, nil
}

// hunt builds a mutant and lets the means look at it, until one of them notices. One that
// changes nothing must still be a program, or the reason is one for nothing.
func (h *hunter) hunt(ctx context.Context, m *mutant, all []means) (result, error) {
	r := result{Mutant: m.Name}
	if err := h.build(ctx, m); err != nil || m.Equivalent != "" {
		return r, err
	}
	for _, one := range all {
		if !one.sees(m) {
			continue
		}
		s, err := one.look(ctx, h, m)
		if err != nil {
			return r, err
		}
		r.Seeds += s.seeds
		r.States += s.states
		r.CPU += s.cpu
		if s.noticed != "" {
			r.Means, r.Noticed, r.Steps = one.name, s.noticed, s.steps
			break
		}
	}
	return r, nil
}

// errNotCompiled is what a mutant is that is no program.
var errNotCompiled = errors.New("it does not compile")

// build makes the command hunt with the bug.
func (h *hunter) build(ctx context.Context, m *mutant) error {
	if err := h.lay(m); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", h.overlay, "-o", h.binary, "./simulation/mutants/hunt")
	cmd.Dir = h.root
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case bytes.HasPrefix(out, []byte("# ")) && bytes.Contains(out, []byte(path.Base(m.File)+":")):
		return fmt.Errorf("%w\n%s", errNotCompiled, out)
	default:
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
}

// lay writes the mutant's source, and says where it stands for which.
func (h *hunter) lay(m *mutant) error {
	name := filepath.Join(h.root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	broken, err := m.in(source)
	if err != nil {
		return err
	}
	instead := filepath.Join(h.work, filepath.Base(m.File))
	if err := os.WriteFile(instead, broken, 0o600); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {name: instead}})
	if err != nil {
		return err
	}
	return os.WriteFile(h.overlay, text, 0o600)
}
