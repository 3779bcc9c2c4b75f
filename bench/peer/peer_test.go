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
	assert.Equal(t, "{\"result\":42}\n{\"error\":\"too small\"}\n{\"error\":\"no such job\"}\n", out.String())
}

func TestWhatIsNoRequestEndsTheService(t *testing.T) {
	require.ErrorContains(t, Serve(t.Context(), strings.NewReader("?"), new(bytes.Buffer), nil), "reading what to do")
}

func TestAProgramThatDoesNotBuildIsNamed(t *testing.T) {
	_, err := Start(t.Context(), "nothing")
	require.ErrorContains(t, err, "nothing")
}
