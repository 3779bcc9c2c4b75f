// Building mutants, and looking at each of them by one means after another.

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
	"strings"
	"time"
)

// hunter builds mutants in a folder of its own.
type hunter struct {
	root    string // of the module
	work    string
	overlay string                   // which source replaces which
	binary  string                   // the command hunt, with the bug
	sound   map[string]time.Duration // how long tests take that pass without a bug
	listed  map[string][]listed      // the packages of a module
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
		sound: map[string]time.Duration{}, listed: map[string][]listed{},
	}, err
}

func (h *hunter) close() { _ = os.RemoveAll(h.work) } // it is a temporary folder

// huntAll hunts one mutant after another until the context ends, and reports progress. It begins with no other one
// once the time is up; zero: there is time for all. Known results are not
// found again. With forgive, mutants that do not compile are counted; otherwise they are errors.
func (h *hunter) huntAll(ctx context.Context, within time.Duration, all []mutant, ways []means, forgive bool, known *results, progress io.Writer) (report, error) {
	total, began, hunted := newReport(), time.Now(), 0
	for i := range all {
		m := &all[i]
		r, old := known.known[m.Name]
		if !old && within > 0 && time.Since(began) > within {
			_, _ = fmt.Fprintf(progress, "the time is up: %d of %d were looked at\n", i, len(all))
			break
		}
		if !old {
			var err error
			r, err = h.hunt(ctx, m, ways)
			if ctx.Err() != nil {
				return total, nil
			}
			if forgive && errors.Is(err, errNotCompiled) {
				r.Discarded, err = true, nil
			}
			if err == nil && r.Untried == "" {
				err = known.add(r)
			}
			if err != nil {
				return total, fmt.Errorf("%s: %w", m.Name, err)
			}
			hunted++
		}
		total.add(r)
		if !old {
			left := time.Since(began) / time.Duration(hunted) * time.Duration(len(all)-i-1)
			_, _ = fmt.Fprintf(progress, "%d of %d, %d survived, about %v left  %s\n", i+1, len(all), len(total.Survivors), left.Round(time.Minute), r.line())
		}
	}
	return total, nil
}

// hunt builds a mutant and looks at it by each means, until one notices it. An equivalent mutant must compile,
// too, or the reason given for it is void.
func (h *hunter) hunt(ctx context.Context, m *mutant, all []means) (result, error) {
	r := result{Mutant: m.Name, Equivalent: m.Equivalent}
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
		r.Untried = cmp.Or(r.Untried, s.untried)
		if s.noticed != "" {
			r.Means, r.Noticed, r.Steps, r.Untried = one.name, s.noticed, s.steps, ""
			break
		}
	}
	return r, nil
}

// errNotCompiled is the error of a mutant that is no program.
var errNotCompiled = errors.New("it does not compile")

// build builds the command hunt with the bug, if a simulator can notice it, and otherwise only the package.
func (h *hunter) build(ctx context.Context, m *mutant) error {
	if err := h.lay(m); err != nil {
		return err
	}
	cmd := h.goTool(ctx, ".", "build", "-overlay", h.overlay, "-o", h.binary, "./simulation/mutants/hunt")
	if isShell(m) {
		cmd = h.goTool(ctx, h.moduleOf(m.File), "build", "-overlay", h.overlay, "-o", os.DevNull, ".")
		cmd.Dir = filepath.Join(h.root, filepath.FromSlash(path.Dir(m.File)))
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case refused(out, path.Dir(m.File)):
		return fmt.Errorf("%w\n%s", errNotCompiled, out)
	default:
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
}

// refused says whether the compiler refuses a package. Its first error may be in another file than the mutant's, for
// example if a constant there is the length of an array.
func refused(out []byte, dir string) bool {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "go: downloading ") {
			return strings.HasPrefix(line, "# ") && strings.HasSuffix(line, "/"+dir)
		}
	}
	return false
}

// goTool is the go command in a module, without the workspace, as users of the module build it.
func (h *hunter) goTool(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(h.root, filepath.FromSlash(module))
	cmd.Env = append(os.Environ(), "GOWORK=off", "HUSTINGS_TEST_WHOLE=1") // as in the gate
	return cmd
}

// lay writes the mutant's source and the overlay.
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
