// The child, as its parent sees it.

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

// Child is the other program, running.
type Child struct {
	command   *exec.Cmd
	in        io.WriteCloser
	requests  *json.Encoder
	responses *json.Decoder
	folder    string // where its executable is
}

// Start builds the program in a folder of this module, and runs it until Close, or
// until the context ends.
func Start(ctx context.Context, name string) (*Child, error) {
	folder, err := os.MkdirTemp("", "hustings-bench-")
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	c := &Child{folder: folder}
	if err := c.start(ctx, name); err != nil {
		return nil, errors.Join(fmt.Errorf("peer: %s: %w", name, err), os.RemoveAll(folder))
	}
	return c, nil
}

func (c *Child) start(ctx context.Context, name string) error {
	module, err := goTool(ctx, ".", "env", "GOMOD")
	if err != nil {
		return err
	}
	program := filepath.Join(c.folder, name)
	if _, err := goTool(ctx, filepath.Join(filepath.Dir(module), name), "build", "-o", program, "."); err != nil {
		return err
	}
	c.command = exec.CommandContext(ctx, program)
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		return err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return err
	}
	c.requests, c.responses = json.NewEncoder(c.in), json.NewDecoder(out)
	return c.command.Start()
}

// goTool runs the go command without the workspace, which the child is not part of.
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

// Do has the child do a job, and is its result.
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

// Close ends the child, which has nothing more to do.
func (c *Child) Close() error {
	err := c.in.Close()
	return errors.Join(err, c.command.Wait(), os.RemoveAll(c.folder))
}
