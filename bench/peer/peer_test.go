package peer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func double(_ context.Context, n int) (int, error) {
	if n < 0 {
		return 0, errors.New("too small")
	}
	return 2 * n, nil
}

func TestEveryRequestIsAnsweredInOneLine(t *testing.T) {
	in := strings.NewReader(`{"job":"double","argument":21} {"job":"double","argument":-1} {"job":"triple","argument":1}`)
	var out bytes.Buffer
	require.NoError(t, Serve(t.Context(), in, &out, Jobs{"double": Of(double)}))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 4)
	for i, expected := range []string{`{"result":42}`, `{"error":"too small"}`, `{"error":"no such job"}`} {
		assert.JSONEq(t, expected, lines[i])
	}
	assert.Empty(t, lines[3])
}

func TestAMalformedRequestEndsTheService(t *testing.T) {
	require.ErrorContains(t, Serve(t.Context(), strings.NewReader("?"), new(bytes.Buffer), nil), "reading a job")
}

func TestAProgramThatDoesNotBuildIsNamed(t *testing.T) {
	p := NewProgram("nothing")
	_, err := p.Start(t.Context())
	require.ErrorContains(t, err, "nothing")
	assert.Empty(t, p.folder, "and leaves nothing behind")
	require.NoError(t, p.Close())
}

func TestAProgramIsBuiltOnce(t *testing.T) {
	p := NewProgram("raft36")
	folder := t.TempDir()
	p.folder = folder // as if it had been built there
	require.NoError(t, os.WriteFile(p.executable(), []byte("#!/bin/sh\ncat > /dev/null\n"), 0o700))
	for range 2 {
		c, err := p.Start(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	require.NoError(t, p.Close())
	assert.NoDirExists(t, folder, "it is removed")
}
