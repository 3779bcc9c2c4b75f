// Package peer runs a second version of a library, which cannot be linked into the same program.
// The other program is built from its own module and run as a child process. It reads jobs from
// its standard input and writes results to its standard output, each as a line of JSON.
package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Job is a measurement that the child can make.
type Job func(ctx context.Context, argument json.RawMessage) (any, error)

// Jobs are all jobs, by name.
type Jobs map[string]Job

// Of makes a job of a function.
func Of[A, R any](f func(context.Context, A) (R, error)) Job {
	return func(ctx context.Context, argument json.RawMessage) (any, error) {
		var a A
		if err := json.Unmarshal(argument, &a); err != nil {
			return nil, err
		}
		return f(ctx, a)
	}
}

type request struct {
	Job      string          `json:"job"`
	Argument json.RawMessage `json:"argument"`
}

type response struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Serve does the jobs that it reads until the input ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, jobs Jobs) error {
	requests, responses := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var q request
		switch err := requests.Decode(&q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("peer: reading a job: %w", err)
		}
		if err := responses.Encode(jobs.do(ctx, q)); err != nil {
			return fmt.Errorf("peer: writing the result of %q: %w", q.Job, err)
		}
	}
}

func (j Jobs) do(ctx context.Context, q request) (a response) {
	job, ok := j[q.Job]
	if !ok {
		return response{Error: "no such job"}
	}
	result, err := job(ctx, q.Argument)
	if err == nil {
		a.Result, err = json.Marshal(result)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
