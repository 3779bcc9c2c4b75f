package peer

import (
	"bytes"
	"context"
	"errors"
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

func TestWhatIsNoRequestEndsTheService(t *testing.T) {
	require.ErrorContains(t, Serve(t.Context(), strings.NewReader("?"), new(bytes.Buffer), nil), "reading what to do")
}

func TestAProgramThatDoesNotBuildIsNamed(t *testing.T) {
	_, err := Start(t.Context(), "nothing")
	require.ErrorContains(t, err, "nothing")
}
