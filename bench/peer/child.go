// The parent's side: the other program, and the child process that runs it.

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is the other program. It is built at its first start. It can be started again, but is
// not safe for concurrent use.
type Program struct {
	name   string // the name of its folder in this module
	folder string // the folder of its executable; empty: it is not built yet
}

// NewProgram returns the program in a folder of this module.
func NewProgram(name string) *Program { return &Program{name: name} }

// Close removes the executable.
func (p *Program) Close() error {
	if p.folder == "" {
		return nil
	}
	folder := p.folder
	p.folder = ""
	return os.RemoveAll(folder)
}

// Start runs the program until the child is closed, or until the context ends.
func (p *Program) Start(ctx context.Context) (*Child, error) {
	err := p.build(ctx)
	if err == nil {
		var c *Child
		if c, err = start(exec.CommandContext(ctx, p.executable())); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("peer: %s: %w", p.name, err)
}

func (p *Program) executable() string { return filepath.Join(p.folder, p.name) }

func (p *Program) build(ctx context.Context) error {
	if p.folder != "" {
		return nil
	}
	module, err := goTool(ctx, ".", "env", "GOMOD")
	if err != nil {
		return err
	}
	if p.folder, err = os.MkdirTemp("", "hustings-bench-"); err != nil {
		return err
	}
	if _, err = goTool(ctx, filepath.Join(filepath.Dir(module), p.name), "build", "-o", p.executable(), "."); err != nil {
		err = errors.Join(err, p.Close())
	}
	return err
}

// Child is a running child process.
type Child struct {
	command   *exec.Cmd
	in        io.WriteCloser
	requests  *json.Encoder
	responses *json.Decoder
}

func start(command *exec.Cmd) (*Child, error) {
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Child{command, in, json.NewEncoder(in), json.NewDecoder(out)}, command.Start()
}

// goTool runs the go command without the workspace, because the child is not part of it.
func goTool(ctx context.Context, folder string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("go %s: %w: %s", arguments[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// Do makes the child do a job, and returns the result.
func Do[R any](c *Child, job string, argument any) (result R, err error) {
	raw, err := json.Marshal(argument)
	if err == nil {
		err = c.requests.Encode(request{Job: job, Argument: raw})
	}
	var a response
	if err == nil {
		err = c.responses.Decode(&a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err == nil {
		err = json.Unmarshal(a.Result, &result)
	}
	if err != nil {
		err = fmt.Errorf("peer: %q: %w", job, err)
	}
	return result, err
}

// Close ends the child, which must be idle.
func (c *Child) Close() error {
	err := c.in.Close()
	return errors.Join(err, c.command.Wait())
}
